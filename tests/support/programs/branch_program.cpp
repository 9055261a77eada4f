#include "support/programs/branch_program.h"

#include <cmath>
#include <random>

#include <fulgurite/error.h>

namespace fulgurite::test {

namespace {

constexpr int calls_of_each = 10;

class Run {
 public:
  Run(unsigned seed, Tensor a, Tensor b, Int n, Float s) : random_(seed), n_(n), s_(s), values_{a, b} {}

  Tensor run() {
    const int operators = 2 + below(5);
    for (int i = 0; i < operators; ++i) {
      const Tensor x = draw();
      Tensor y = step(x);
      if (y.numel() > 400) y = sum(y, Dims{0}, true);
      values_.push_back(y);
    }
    Tensor result = values_.back();
    if (below(3) == 0) result = result * Float(values_.front().numel());
    return result;
  }

 private:
  int below(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  Tensor draw() {
    const int last = static_cast<int>(values_.size()) - 1;
    return values_[static_cast<size_t>(below(2) == 0 ? last : below(last + 1))];
  }
  int dim_of(const Tensor& x) { return x.ndim() == 0 ? 0 : below(static_cast<int>(x.ndim())); }

  // A size, a scalar, or a value computed from them.
  Int draw_integer(const Tensor& x) {
    const Int size = x.ndim() == 0 ? Int(1) : x.size(dim_of(x));
    switch (below(7)) {
      case 0: return n_;
      case 1: return size + n_;
      case 2: return min(size, n_);
      case 3: return size % 3;
      case 4: return max(size - 1, n_);
      case 5: return (size + 1) / 2;
      default: return size;
    }
  }

  bool decide(const Tensor& x) {
    const Int p = draw_integer(x), q = draw_integer(draw());
    const int constant = below(4);
    switch (below(6)) {
      case 0: return p == constant;
      case 1: return p < q;
      case 2: return p >= constant;
      case 3: return s_ < 0.5;
      case 4: return p != q;
      default: return p * s_ > 1.0;
    }
  }

  Tensor step(const Tensor& x) {
    const int kind = below(20);
    const int d = dim_of(x);
    if (x.ndim() == 0 && kind >= 4 && kind < 14) return x * s_;
    switch (kind) {
      case 0: return x + draw();
      case 1: return x * draw();
      case 2: return x * s_ + n_;
      case 3: return x / draw_integer(x);
      case 4: return sum(x, Dims{d}, below(2) == 0);
      case 5: return reshape(x, Dims{-1});
      case 6: return cat({x, x}, d);
      case 7: return narrow(x, d, 0, min(x.size(d), max(n_, 0)));
      case 8: return transpose(x, d, -1);
      case 9: return softmax(x, d);
      case 10: return matmul(x, transpose(x, 0, -1));
      case 11: return reshape(x, Dims{x.size(d), -1});
      case 12: return x.select(d, draw_integer(x));
      case 13: return expand(unsqueeze(x, d), broadcast(x, d));
      case 14: return unsqueeze(x, 0);
      case 15: return x + zeros({draw_integer(x)});
      case 16: return x * sum(arange(draw_integer(x), {.dtype = Dtype::f32}));
      case 17: {
        Tensor y = x;
        for (Int i = 0; i < n_ && i < 3; ++i) y = tanh(y) + i;
        return y;
      }
      case 18: return mean(x) + x;
      default: return decide(x) ? sin(x) * 2 : x + draw_integer(x);
    }
  }

  Dims broadcast(const Tensor& x, int d) {
    Dims sizes(x.shape());
    sizes.insert(static_cast<size_t>(d), max(n_, 1));
    return sizes;
  }

  std::mt19937 random_;
  Int n_;
  Float s_;
  std::vector<Tensor> values_;
};

bool is_close(double a, double b, double tolerance) {
  if ((std::isnan(a) && std::isnan(b)) || a == b) return true;
  return std::fabs(a - b) <= tolerance * std::fmax(1.0, std::fabs(b));
}

std::string compare(const char* what, const Tensor& actual, const Tensor& expected, double tolerance) {
  if (actual.defined() != expected.defined()) return std::string(what) + " is given in one way only";
  if (!actual.defined()) return "";
  if (actual.shape().to_vector() != expected.shape().to_vector())
    return std::string(what) + " is of shape " + actual.shape().text() + ", not " + expected.shape().text();
  const auto a = actual.detach().contiguous().to_vector<float>(), b = expected.detach().contiguous().to_vector<float>();
  for (size_t i = 0; i < a.size(); ++i)
    if (!is_close(a[i], b[i], tolerance))
      return std::string(what) + ": element " + std::to_string(i) + " is " + std::to_string(a[i]) + ", not " +
             std::to_string(b[i]);
  return "";
}

struct Answer {
  bool is_error = false;
  std::string message;
  Tensor result, a_grad, b_grad;
};

template <class F>
Answer answer_of(const F& function, const BranchInputs& inputs) {
  Answer answer;
  try {
    const Tensor a = inputs.a.clone().requires_grad_(), b = inputs.b.clone().requires_grad_();
    answer.result = function(a, b, inputs.n, inputs.s);
    if (!answer.result.requires_grad()) return answer;
    const std::vector<Tensor> grads =
        autograd::grad({sum(sin(answer.result))}, {a, b}, {}, {.allow_unused = true, .materialize_grads = true});
    answer.a_grad = grads[0];
    answer.b_grad = grads[1];
  } catch (const UserError& error) {
    answer.is_error = true;
    answer.message = error.what();
  }
  return answer;
}

}  // namespace

Tensor run_branch_program(unsigned seed, Tensor a, Tensor b, Int n, Float s) { return Run(seed, a, b, n, s).run(); }

BranchInputs branch_inputs(unsigned seed, unsigned call) {
  std::mt19937 ranks(seed * 7919u + 1), values(seed * 104729u + call * 31u + 7);
  const auto below = [&](int count) { return static_cast<int>(values() % static_cast<unsigned>(count)); };
  const auto size = [&] { return std::vector<int64_t>{0, 1, 1, 2, 2, 3, 3, 4, 5, 7}[static_cast<size_t>(below(10))]; };
  Shape a, b;
  const int a_rank = 1 + static_cast<int>(ranks() % 3), b_rank = static_cast<int>(ranks() % 3);
  for (int i = 0; i < a_rank; ++i) a.push_back(size());
  for (int i = 0; i < b_rank; ++i) {
    const bool is_other = below(6) == 0;
    const size_t from_end = static_cast<size_t>(b_rank - i);
    b.push_back(is_other || from_end > a.size() ? Int(size()) : below(3) == 0 ? Int(1) : a[a.size() - from_end]);
  }
  const auto tensor_of = [&](const Shape& shape) {
    std::vector<float> elements(static_cast<size_t>(static_cast<int64_t>(shape.numel())));
    for (float& x : elements) x = static_cast<float>(below(9)) / 4.0f - 1.0f;
    return reshape(tensor(elements), Dims(shape));
  };
  return {tensor_of(a), tensor_of(b), Int(below(5)), Float(below(5) * 0.25)};
}

std::string check_branch_program(unsigned seed, BranchCounts& counts) {
  const auto function = [seed](Tensor a, Tensor b, Int n, Float s) { return run_branch_program(seed, a, b, n, s); };
  const auto jitted = jit(function, {.cache = Cache::symbolic_values, .executors = {"eager"}});
  ++counts.programs;
  std::string problem;
  for (unsigned call = 0; call < calls_of_each && problem.empty(); ++call) {
    const BranchInputs inputs = branch_inputs(seed, call);
    const Answer expected = answer_of(function, inputs);
    Answer actual;
    try {
      actual = answer_of(jitted, inputs);
    } catch (const std::exception& error) {
      problem = std::string("jitted: ") + error.what();
      break;
    }
    ++counts.calls;
    counts.errors += expected.is_error;
    if (expected.is_error != actual.is_error) {
      problem = expected.is_error ? "an error in eager mode only: " + expected.message
                                  : "an error with symbols only: " + actual.message;
    } else if (!expected.is_error) {
      problem = compare("the result", actual.result, expected.result, 0);
      if (problem.empty()) problem = compare("the gradient of a", actual.a_grad, expected.a_grad, 1e-4);
      if (problem.empty()) problem = compare("the gradient of b", actual.b_grad, expected.b_grad, 1e-4);
    }
    if (!problem.empty())
      problem = "function " + std::to_string(seed) + ", call " + std::to_string(call) + " (a " +
                inputs.a.shape().text() + ", b " + inputs.b.shape().text() + ", n " + std::to_string(inputs.n.hint()) +
                ", s " + std::to_string(inputs.s.hint()) + "): " + problem;
  }
  counts.hits += cache_hits(jitted);
  const std::string text = explain(jitted);
  for (size_t at = text.find("because with symbols"); at != std::string::npos;
       at = text.find("because with symbols", at + 1))
    counts.constants.push_back(std::to_string(seed) + text.substr(at + 20, text.find('\n', at) - at - 20));
  return problem;
}

}  // namespace fulgurite::test
