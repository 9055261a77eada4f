#include "support/programs/write_program.h"

#include <algorithm>

#include <fulgurite/fulgurite.h>

namespace fulgurite::test {

namespace {

constexpr int leaf_count = 2, buffer = 2, other_buffer = 3;

}  // namespace

WriteProgram draw_write_program(unsigned seed) {
  StepDrawing drawing(seed, leaf_count);
  WriteProgram program;
  program.shape = drawing.below(2) == 0 ? Shape{3, 4} : Shape{2, 3, 2};
  const char* const sharings[] = {"none", "none", "same", "row", "rows", "column", "transposed"};
  program.sharing = sharings[drawing.below(7)];
  const NoGrad no_grad;
  drawing.begin(program.arguments(false), {0, 1, 2, 3});
  const int steps = 3 + drawing.below(9);
  for (int i = 0; i < steps; ++i)
    if (WriteStep step = drawing.step(); !step.kind.empty()) program.steps.push_back(std::move(step));
  for (int i = leaf_count; i <= drawing.last(); ++i)
    if (drawing.below(2) == 0) program.results.push_back(i);
  return program;
}

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
  return "{\"shape\": " + test::json(shape.to_vector()) + ", \"sharing\": \"" + sharing +
         "\", \"steps\": " + test::json(steps) +
         ", \"results\": " + test::json(std::vector<int64_t>(results.begin(), results.end())) + "}";
}

}  // namespace fulgurite::test
