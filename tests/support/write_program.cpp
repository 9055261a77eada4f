#include "support/write_program.h"

#include <algorithm>
#include <random>

#include <fulgurite/fulgurite.h>

namespace fulgurite::test {

namespace {

constexpr int leaf_count = 2, buffer = 2, other_buffer = 3;

Tensor made(const WriteStep& step, const std::vector<Tensor>& values) {
  const Tensor &x = values[step.on], &y = values[step.other];
  const auto n = [&](size_t i) { return step.numbers[i]; };
  if (step.kind == "transpose") return transpose(x, n(0), n(1));
  if (step.kind == "select") return select(x, n(0), n(1));
  if (step.kind == "narrow") return narrow(x, n(0), n(1), n(2));
  if (step.kind == "slice") return prims::slice(x, n(0), n(1), {}, n(2));
  if (step.kind == "unsqueeze") return unsqueeze(x, n(0));
  if (step.kind == "squeeze") return squeeze(x);
  if (step.kind == "diagonal") return diagonal(x);
  if (step.kind == "expand") {
    Shape shape = x.shape();
    shape.insert(0, n(0));
    return expand(x, shape);
  }
  if (step.kind == "same") return x;
  if (step.kind == "scaled") return x * step.number + 0.25;
  if (step.kind == "sine") return sin(x);
  if (step.kind == "product") return x * y;
  if (step.kind == "clone") return clone(x);
  throw UserError("no step is called " + step.kind);
}

void write(const WriteStep& step, const std::vector<Tensor>& values) {
  const Tensor &x = values[step.on], &y = values[step.other];
  if (step.kind == "add_") x.add_(step.number);
  else if (step.kind == "mul_") x.mul_(step.number);
  else if (step.kind == "fill_") x.fill_(step.number);
  else if (step.kind == "zero_") x.zero_();
  else if (step.kind == "sin_") x.sin_();
  else if (step.kind == "add_square_") x.add_(x * x * 0.125);
  else if (step.kind == "copy_") x.copy_(y);
  else if (step.kind == "mul_value_") x.mul_(y);
  else if (step.kind == "masked_fill_") x.masked_fill_(x > step.number, step.number);
  else if (step.kind == "no_grad_add_") {
    const NoGrad no_grad;
    x.add_(step.number);
  } else throw UserError("no step is called " + step.kind);
}

/// Draws steps while it runs them on plain numbers, for the shapes.
class Drawing {
 public:
  explicit Drawing(unsigned seed) : random_(seed) {}

  WriteProgram draw() {
    program_.shape = below(2) == 0 ? Shape{3, 4} : Shape{2, 3, 2};
    const char* const sharings[] = {"none", "none", "same", "row", "rows", "column", "transposed"};
    program_.sharing = sharings[below(7)];
    const NoGrad no_grad;
    values_ = program_.arguments(false);
    roots_ = {0, 1, 2, 3};
    const int steps = 3 + below(9);
    for (int i = 0; i < steps; ++i) {
      WriteStep step = below(5) < 2 ? draw_write() : below(2) == 0 ? draw_view() : draw_value();
      if (step.kind.empty()) continue;
      if (step.writes()) write(step, values_);
      else add_value(step);
      program_.steps.push_back(std::move(step));
    }
    for (int i = leaf_count; i < static_cast<int>(values_.size()); ++i)
      if (below(2) == 0) program_.results.push_back(i);
    return program_;
  }

 private:
  int below(int64_t n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  int draw_number() { return below(2) == 0 ? last() : below(static_cast<int64_t>(values_.size())); }
  int last() const { return static_cast<int>(values_.size()) - 1; }

  void add_value(const WriteStep& step) {
    static const std::vector<std::string> operators = {"scaled", "sine", "product", "clone"};
    const bool is_new = std::ranges::find(operators, step.kind) != operators.end();
    Tensor value = made(step, values_);
    // What is expanded is not written, nor what a leaf's memory is.
    const bool is_expanded = step.kind == "expand" || (!is_new && read_only_[step.on]);
    values_.push_back(std::move(value));
    roots_.push_back(is_new ? last() : roots_[step.on]);
    read_only_.resize(values_.size(), false);
    read_only_[last()] = is_expanded;
  }

  WriteStep draw_view() {
    WriteStep step;
    step.on = draw_number();
    const Tensor& x = values_[step.on];
    if (x.ndim() == 0) {
      step.kind = "unsqueeze";
      step.numbers = {0};
      return step;
    }
    const int64_t dim = below(x.ndim());
    const auto size = static_cast<int64_t>(x.size(static_cast<int>(dim)));
    switch (below(10)) {
      case 0: step.kind = "transpose", step.numbers = {dim, below(x.ndim())}; break;
      case 1:
      case 2:
        if (size > 0) step.kind = "select", step.numbers = {dim, below(size)};
        break;
      case 3: step.kind = "narrow", step.numbers = {dim, size / 2, size - size / 2}; break;
      case 4: step.kind = "slice", step.numbers = {dim, below(2), 2}; break;
      case 5:
        if (x.ndim() < 4) step.kind = "unsqueeze", step.numbers = {dim};
        break;
      case 6: step.kind = "squeeze"; break;
      case 7:
        if (x.ndim() >= 2) step.kind = "diagonal";
        break;
      case 8:
        if (x.ndim() < 3) step.kind = "expand", step.numbers = {2};
        break;
      default: step.kind = "same";
    }
    return step;
  }

  WriteStep draw_value() {
    WriteStep step;
    step.on = draw_number();
    step.number = 0.5 + 0.25 * below(5);
    switch (below(5)) {
      case 0:
      case 1: step.kind = "scaled"; break;
      case 2: step.kind = "sine"; break;
      case 3: step.kind = "clone"; break;
      default: {
        step.kind = "product";
        step.other = same_shape(step.on);
      }
    }
    return step;
  }

  WriteStep draw_write() {
    WriteStep step;
    for (int attempt = 0; attempt < 8; ++attempt) {
      step.on = draw_number();
      if (roots_[step.on] >= leaf_count && !read_only_[step.on]) break;
    }
    if (roots_[step.on] < leaf_count || read_only_[step.on]) return step;
    step.number = -0.75 + 0.5 * below(4);
    switch (below(11)) {
      case 0: step.kind = "add_"; break;
      case 1: step.kind = "mul_"; break;
      case 2: step.kind = "fill_"; break;
      case 3: step.kind = "zero_"; break;
      case 4: step.kind = "sin_"; break;
      case 5: step.kind = "add_square_"; break;
      case 6: step.kind = "masked_fill_"; break;
      case 7:
      case 8: step.kind = "mul_value_", step.other = same_shape(step.on); break;
      default: step.kind = "copy_", step.other = same_shape(step.on);
    }
    return step;
  }

  /// A value of the same shape; the value itself where there is no other.
  int same_shape(int of) {
    std::vector<int> found;
    for (int i = 0; i <= last(); ++i)
      if (i != of && values_[i].shape() == values_[of].shape()) found.push_back(i);
    return found.empty() ? of : found[below(static_cast<int64_t>(found.size()))];
  }

  std::mt19937 random_;
  WriteProgram program_;
  std::vector<Tensor> values_;
  std::vector<int> roots_;                             // whose memory each lies in
  std::vector<char> read_only_ = {true, true, false, false};
};

std::string list(const std::vector<int64_t>& numbers) {
  std::string out;
  for (const int64_t n : numbers) out += (out.empty() ? "" : ", ") + std::to_string(n);
  return "[" + out + "]";
}

}  // namespace

WriteProgram draw_write_program(unsigned seed) { return Drawing(seed).draw(); }

std::vector<Tensor> WriteProgram::arguments(bool with_gradients) const {
  const Int count = shape.numel();
  const auto numbers = [&](double step, double start) {
    return reshape(arange(0, count, 1, {.dtype = Dtype::f64}), shape) * step + start;
  };
  std::vector<Tensor> out{numbers(0.25, -1), cos(numbers(1, 0)), numbers(0.125, 0.5), numbers(-0.25, 1)};
  const Tensor& first = out[buffer];
  if (sharing == "same") out[other_buffer] = first;
  if (sharing == "row") out[other_buffer] = select(first, 0, 1);
  if (sharing == "rows") out[other_buffer] = narrow(first, 0, 0, 2);
  if (sharing == "column") out[other_buffer] = select(first, 1, 2);
  if (sharing == "transposed") out[other_buffer] = transpose(first, 0, 1);
  if (with_gradients)
    for (int i = 0; i < leaf_count; ++i) out[i].requires_grad_();
  return out;
}

std::vector<Tensor> WriteProgram::run(const std::vector<Tensor>& arguments, const std::vector<int>& breaks) const {
  std::vector<Tensor> values = arguments;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].writes()) write(steps[i], values);
    else values.push_back(made(steps[i], values));
    if (std::ranges::find(breaks, static_cast<int>(i)) != breaks.end()) graph_break();
  }
  std::vector<Tensor> out;
  for (const int result : results) out.push_back(values[result] * 1.0);
  for (int i = 0; i < leaf_count; ++i) out.push_back(sum(values[i]));
  return out;
}

Tensor WriteProgram::loss(const std::vector<Tensor>& results) {
  Tensor total = zeros({}, {.dtype = Dtype::f64});
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor weighted = sin(results[i]) * static_cast<double>(i + 1) + results[i] * results[i] * 0.25;
    total = total + sum(weighted);
  }
  return total;
}

std::string WriteProgram::json() const {
  std::string out = "{\"shape\": " + list(shape.to_vector()) + ", \"sharing\": \"" + sharing + "\", \"steps\": [";
  for (size_t i = 0; i < steps.size(); ++i) {
    const WriteStep& step = steps[i];
    out += (i ? ", " : "") + std::string("{\"kind\": \"") + step.kind + "\", \"on\": " + std::to_string(step.on) +
           ", \"other\": " + std::to_string(step.other) + ", \"numbers\": " + list(step.numbers) +
           ", \"number\": " + std::to_string(step.number) + "}";
  }
  return out + "], \"results\": " + list({results.begin(), results.end()}) + "}";
}

}  // namespace fulgurite::test
