// Random programs: whatever a program does, eager mode, jit and jit with other executors must give the same numbers and gradients.
#include <cstring>
#include <functional>
#include <random>
#include <string>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

namespace fulgurite {

namespace {

constexpr int program_count = 200, operator_count = 12, input_count = 3;
constexpr int64_t most_elements = 400;

/// A program that is a function of its seed and of its inputs' sizes: each operator is drawn among those that the sizes allow.
class RandomProgram {
 public:
  RandomProgram(unsigned seed, const std::vector<Tensor>& inputs) : random_(seed), values_(inputs) {}

  std::vector<Tensor> run() {
    const size_t inputs = values_.size();
    for (int i = 0; i < operator_count; ++i) {
      const Tensor next = draw_operator(below(6));
      values_.push_back(next);
    }
    // Some of the values, the last always; the others are dead unless those depend on them.
    std::vector<Tensor> results{values_.back()};
    for (size_t i = inputs; i + 1 < values_.size(); ++i)
      if (below(6) == 0) results.push_back(values_[i]);
    return results;
  }

 private:
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<unsigned>(n)); }
  // Mostly of the last values, so that programs are deep.
  Tensor draw_value() {
    const auto count = static_cast<int64_t>(values_.size());
    const int64_t from_end = below(2) == 0 ? below(std::min<int64_t>(count, 3)) : below(count);
    return values_[static_cast<size_t>(count - 1 - from_end)];
  }
  static int64_t elements(const Tensor& x) { return x.numel(); }
  static int64_t size(const Tensor& x, int64_t dim) { return x.size(static_cast<int>(dim)); }

  Tensor draw_operator(int64_t family) {
    const Tensor x = draw_value();
    switch (family) {
      case 0: return unary(x);
      case 1: return binary(x, draw_value());
      case 2: return reduction(x);
      case 3: return view(x);
      case 4: return product(x, draw_value());
      default: return other(x, draw_value());
    }
  }

  // Slopes are bounded, so that numbers stay small.
  Tensor unary(const Tensor& x) {
    switch (below(12)) {
      case 0: return sin(x);
      case 1: return tanh(x);
      case 2: return sigmoid(x);
      case 3: return -x;
      case 4: return abs(x);
      case 5: return gelu(x);
      case 6: return silu(x);
      case 7: return relu(x);
      case 8: return exp(tanh(x));
      case 9: return rsqrt(square(x) + 1);
      case 10: return clamp(x, -0.5, 0.75);
      default: return x * 0.5 + 1;
    }
  }

  static bool can_broadcast(const Tensor& x, const Tensor& y) {
    const int64_t common = std::min(x.ndim(), y.ndim());
    int64_t count = 1;
    for (int64_t i = 1; i <= common; ++i) {
      const int64_t a = size(x, -i), b = size(y, -i);
      if (a != b && a != 1 && b != 1) return false;
      count *= std::max(a, b);
    }
    for (const Tensor& longer : {x, y})
      for (int64_t i = common + 1; i <= longer.ndim(); ++i) count *= size(longer, -i);
    return count <= most_elements;
  }

  Tensor binary(const Tensor& x, const Tensor& y) {
    if (!can_broadcast(x, y)) return unary(x);
    switch (below(8)) {
      case 0: return x + y;
      case 1: return x - y;
      case 2: return x * tanh(y);
      case 3: return x / (square(y) + 1);
      case 4: return maximum(x, y);
      case 5: return minimum(x, y);
      case 6: return where(x < y, x, y * 0.5);
      default: return lerp(x, x + y, 0.25);
    }
  }

  Tensor reduction(const Tensor& x) {
    if (x.ndim() == 0) return unary(x);
    const int64_t dim = below(x.ndim());
    const bool keepdim = below(2) == 0;
    switch (below(7)) {
      case 0: return sum(x, dim, keepdim) * 0.5;
      case 1: return mean(x, dim, keepdim);
      case 2: return amax(x, dim, keepdim);
      case 3: return logsumexp(x, dim, keepdim);
      case 4: return softmax(x, dim);
      case 5: return log_softmax(x, dim) * 0.25;
      default: return mean(x) + x;
    }
  }

  Tensor view(const Tensor& x) {
    if (x.ndim() == 0) return reshape(x, {1});
    const int64_t dim = below(x.ndim());
    switch (below(9)) {
      case 0: return reshape(x, {-1});
      case 1: return transpose(x, dim, below(x.ndim()));
      case 2: return x.ndim() < 4 ? unsqueeze(x, dim) : flatten(x);
      case 3: return squeeze(x);
      case 4: return narrow(x, dim, size(x, dim) / 2, size(x, dim) - size(x, dim) / 2);
      case 5: return select(x, dim, below(size(x, dim)));
      case 6: {
        if (x.ndim() > 3 || elements(x) * 2 > most_elements) return flatten(x);
        Dims sizes = Dims(x.shape());
        sizes.insert(0, 2);
        return expand(x, sizes);
      }
      case 7: return flip(x, dim);
      default: return x(Slice(), Ellipsis);
    }
  }

  Tensor product(const Tensor& x, const Tensor& y) {
    if (x.ndim() < 1 || y.ndim() < 1) return unary(x);
    const Tensor right = y.ndim() > 1 && below(2) == 0 ? transpose(y, -1, -2) : y;
    const bool is_small = elements(x) * elements(right) <= 40 * most_elements;
    const bool fits = x.ndim() <= 2 && right.ndim() <= 2 && size(x, -1) == size(right, right.ndim() > 1 ? -2 : -1);
    if (fits && is_small && size(x, 0) * size(right, -1) <= most_elements) return matmul(x, right) * 0.25;
    if (x.ndim() >= 2 && elements(x) * size(x, -2) <= most_elements * 4) return matmul(x, transpose(x, -1, -2)) * 0.25;
    return binary(x, right);
  }

  Tensor other(const Tensor& x, const Tensor& y) {
    if (x.ndim() == 0) return unary(x);
    const int64_t dim = below(x.ndim());
    switch (below(7)) {
      case 0: return elements(x) * 2 <= most_elements ? cat({x, sin(x)}, dim) : unary(x);
      case 1: return x.ndim() < 4 && elements(x) * 2 <= most_elements ? stack({x, x}, dim) : unary(x);
      case 2: return cumsum(x, dim) * 0.25;
      case 3: return x.detach() + x;
      case 4: return sin(x) + sin(x);  // for the pass that computes it once
      case 5: return nn::layer_norm(x, {x.size(-1)});
      default: {
        const std::vector<Tensor> parts = chunk(x, 2, dim);
        return binary(parts.back(), y);
      }
    }
  }

  std::mt19937 random_;
  std::vector<Tensor> values_;
};

std::vector<Tensor> draw_inputs(unsigned seed) {
  std::mt19937 random(seed);
  const int64_t sizes[] = {1, 2, 3, 4, 5};
  std::vector<int64_t> shape;
  for (unsigned i = 0; i < 2 + random() % 2; ++i) shape.push_back(sizes[random() % 5]);
  std::vector<Tensor> inputs;
  for (int i = 0; i < input_count; ++i) {
    // The same sizes, fewer of them or with ones in them, so that they broadcast.
    std::vector<int64_t> mine(shape.begin() + (i == 2 ? 1 : 0), shape.end());
    if (i == 1) mine[random() % mine.size()] = 1;
    int64_t count = 1;
    for (const int64_t n : mine) count *= n;
    std::vector<float> numbers;
    for (int64_t k = 0; k < count; ++k) numbers.push_back(static_cast<float>(random() % 4001) / 1000.0f - 2.0f);
    inputs.push_back(reshape(tensor(numbers), mine).clone().requires_grad_(i != 2 || seed % 3 != 0));
  }
  return inputs;
}

/// The results of a run and the gradients of its inputs; those are undefined where no gradient flows.
struct Outcome {
  std::vector<Tensor> results, gradients;
};

using Program = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

Outcome run(const Program& program, unsigned seed) {
  const std::vector<Tensor> inputs = draw_inputs(seed);
  Outcome out;
  out.results = program(inputs);
  Tensor total;
  for (const Tensor& result : out.results) {
    if (!result.requires_grad()) continue;
    const Tensor share = sum(result * result);
    total = total.defined() ? total + share : share;
  }
  if (total.defined()) total.backward();
  for (const Tensor& input : inputs) out.gradients.push_back(input.grad());
  return out;
}

bool has_same_bits(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined()) return false;
  if (!a.defined()) return true;
  if (!(a.shape() == b.shape()) || a.dtype() != b.dtype()) return false;
  const std::vector<float> x = a.to_vector<float>(), y = b.to_vector<float>();
  return x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
}

bool is_near(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined()) return false;
  if (!a.defined()) return true;
  if (!(a.shape() == b.shape())) return false;
  const std::vector<float> x = a.to_vector<float>(), y = b.to_vector<float>();
  double largest = 1;
  for (const float value : y) largest = std::fmax(largest, std::fabs(static_cast<double>(value)));
  for (size_t i = 0; i < x.size(); ++i)
    if (!(std::fabs(static_cast<double>(x[i]) - static_cast<double>(y[i])) <= 2e-5 * largest)) return false;
  return true;
}

void expect_same(const Outcome& actual, const Outcome& expected, const std::string& what) {
  if (!expect_equal(actual.results.size(), expected.results.size())) return;
  for (size_t i = 0; i < actual.results.size(); ++i)
    expect(has_same_bits(actual.results[i], expected.results[i]), what + ": result " + std::to_string(i) + " differs");
  // Gradients are sums over the ways that lead to an input, which the engine and the trace may add in another order.
  for (size_t i = 0; i < actual.gradients.size(); ++i)
    expect(is_near(actual.gradients[i], expected.gradients[i]), what + ": gradient " + std::to_string(i) + " differs");
}

}  // namespace

TEST("random programs do the same eagerly and compiled, with every stage of their traces in order") {
  int with_gradient = 0;
  for (unsigned seed = 1; seed <= program_count; ++seed) {
    const Program program = [seed](const std::vector<Tensor>& inputs) { return RandomProgram(seed, inputs).run(); };
    const std::string name = "program " + std::to_string(seed);
    try {
      const Outcome eager = run(program, seed);
      with_gradient += eager.gradients[0].defined();
      const auto function = [program](std::vector<Tensor> inputs) { return program(inputs); };
      const auto compiled = jit(function, {.debug = {.check_traces = true}});
      expect_same(run(compiled, seed), eager, name + ", jit");
      const auto compiled_for_eager = jit(function, {.executors = {"eager"}, .debug = {.check_traces = true}});
      expect_same(run(compiled_for_eager, seed), eager, name + ", jit with the eager executor");
      // A second run reuses the frame of the first.
      expect_same(run(compiled, seed), eager, name + ", jit again");
      expect_equal(cache_misses(compiled), 1);
    } catch (const std::exception& error) {
      test::fail(name + ": " + error.what());
    }
  }
  expect(with_gradient > program_count / 2, "most programs have gradients");
}

TEST("random programs give the same gradients as part of a compiled function") {
  for (unsigned seed = 1; seed <= program_count; seed += 4) {
    const auto loss = [seed](std::vector<Tensor> inputs) {
      const std::vector<Tensor> results = RandomProgram(seed, inputs).run();
      Tensor total;
      for (const Tensor& result : results) {
        const Tensor share = sum(result * result);
        total = total.defined() ? total + share : share;
      }
      return total;
    };
    try {
      const std::vector<Tensor> inputs = draw_inputs(seed);
      const NoGrad no_grad;
      const std::vector<Tensor> eager = grad(loss)(inputs);
      const std::vector<Tensor> compiled = jit(grad(loss), {.debug = {.check_traces = true}})(inputs);
      for (size_t i = 0; i < eager.size(); ++i)
        expect(has_same_bits(compiled[i], eager[i]), "program " + std::to_string(seed) + ": gradient " + std::to_string(i));
    } catch (const std::exception& error) {
      test::fail("program " + std::to_string(seed) + ": " + error.what());
    }
  }
}

}  // namespace fulgurite
