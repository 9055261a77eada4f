#include "support/programs/write_steps.h"

#include <algorithm>

#include <fulgurite/fulgurite.h>

namespace fulgurite::test {

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
  if (step.kind == "flat") return reshape(x, {-1});
  if (step.kind == "detach") return detach(x);
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

void StepDrawing::begin(std::vector<Tensor> values, std::vector<int> roots) {
  values_ = std::move(values);
  roots_ = std::move(roots);
  read_only_.clear();
  for (const int root : roots_) read_only_.push_back(root < leaf_count_);
}

void StepDrawing::go_on_with(const std::vector<int>& numbers) {
  std::vector<Tensor> values;
  std::vector<int> roots;
  std::vector<char> read_only;
  for (const int number : numbers) {
    int root = static_cast<int>(values.size());
    for (size_t i = 0; i < values.size(); ++i)
      if (roots_[numbers[i]] == roots_[number]) root = std::min(root, static_cast<int>(i));
    values.push_back(values_[number]);
    roots.push_back(root);
    read_only.push_back(read_only_[number]);
  }
  values_ = std::move(values);
  roots_ = std::move(roots);
  read_only_ = std::move(read_only);
}

WriteStep StepDrawing::done(WriteStep step) {
  if (step.kind.empty()) return step;
  if (step.writes()) write(step, values_);
  else add_value(step);
  return step;
}

WriteStep StepDrawing::step() { return done(below(5) < 2 ? draw_write() : below(2) == 0 ? draw_view() : draw_value()); }

WriteStep StepDrawing::step_of_views() {
  const int kind = below(8);
  return done(kind < 4 ? draw_view() : kind < 6 ? draw_write() : draw_value());
}

WriteStep StepDrawing::write_step() { return done(draw_write()); }

WriteStep StepDrawing::view_of_strides() {
  WriteStep step;
  step.on = draw_number();
  step.kind = below(3) == 0 ? "detach" : "flat";
  return done(std::move(step));
}

int StepDrawing::draw_number() { return below(2) == 0 ? last() : below(static_cast<int64_t>(values_.size())); }

void StepDrawing::add_value(const WriteStep& step) {
  static const std::vector<std::string> operators = {"scaled", "sine", "product", "clone"};
  const bool is_new = std::ranges::find(operators, step.kind) != operators.end();
  Tensor value = made(step, values_);
  // Expanded tensors and those in a leaf's memory are not written.
  const bool is_expanded = step.kind == "expand" || (!is_new && read_only_[step.on]);
  values_.push_back(std::move(value));
  roots_.push_back(is_new ? last() : roots_[step.on]);
  read_only_.resize(values_.size(), false);
  read_only_[last()] = is_expanded;
}

WriteStep StepDrawing::draw_view() {
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

WriteStep StepDrawing::draw_value() {
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

WriteStep StepDrawing::draw_write() {
  WriteStep step;
  for (int attempt = 0; attempt < 8; ++attempt) {
    step.on = draw_number();
    if (roots_[step.on] >= leaf_count_ && !read_only_[step.on]) break;
  }
  if (roots_[step.on] < leaf_count_ || read_only_[step.on]) return step;
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
int StepDrawing::same_shape(int of) {
  std::vector<int> found;
  for (int i = 0; i <= last(); ++i)
    if (i != of && values_[i].shape() == values_[of].shape()) found.push_back(i);
  return found.empty() ? of : found[below(static_cast<int64_t>(found.size()))];
}

std::string json(const std::vector<int64_t>& numbers) {
  std::string out;
  for (const int64_t n : numbers) out += (out.empty() ? "" : ", ") + std::to_string(n);
  return "[" + out + "]";
}

std::string json(const std::vector<WriteStep>& steps) {
  std::string out = "[";
  for (size_t i = 0; i < steps.size(); ++i) {
    const WriteStep& step = steps[i];
    out += (i ? ", " : "") + std::string("{\"kind\": \"") + step.kind + "\", \"on\": " + std::to_string(step.on) +
           ", \"other\": " + std::to_string(step.other) + ", \"numbers\": " + json(step.numbers) +
           ", \"number\": " + std::to_string(step.number) + "}";
  }
  return out + "]";
}

}  // namespace fulgurite::test
