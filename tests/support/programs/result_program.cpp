#include "support/programs/result_program.h"

#include <algorithm>

#include <fulgurite/fulgurite.h>

namespace fulgurite::test {

namespace {

constexpr int argument_count = 4;

}  // namespace

ResultProgram draw_result_program(unsigned seed) {
  StepDrawing drawing(seed, 1);
  ResultProgram program;
  program.shape = drawing.below(2) == 0 ? Shape{3, 4} : Shape{2, 3, 2};
  const char* const sharings[] = {"none", "none", "none", "row", "rows", "transposed"};
  program.sharing = sharings[drawing.below(6)];
  const NoGrad no_grad;
  const int second = program.sharing == "none" ? 2 : 1;
  drawing.begin(program.arguments(program.leaves(false)), {0, 1, second, 3});
  const int inside = 1 + drawing.below(6);
  for (int i = 0; i < inside; ++i)
    if (WriteStep step = drawing.step_of_views(); !step.kind.empty()) program.inside.push_back(std::move(step));
  // Reshapes that are views or copies depending on the strides of an argument are not written inside.
  for (int i = 0; i < 2; ++i)
    if (drawing.below(4) == 0) program.inside.push_back(drawing.view_of_strides());
  std::vector<int> numbers = {0, 1, 2, 3};
  for (int i = 0; i <= drawing.last(); ++i)
    if (i > 0 && drawing.below(i < argument_count ? 4 : 2) == 0) program.results.push_back(i);
  if (program.results.empty()) program.results.push_back(drawing.last());
  numbers.insert(numbers.end(), program.results.begin(), program.results.end());
  drawing.go_on_with(numbers);
  const int after = 1 + drawing.below(5);
  for (int i = 0; i < after; ++i) {
    WriteStep step = i == 0 ? drawing.write_step() : drawing.step_of_views();
    if (!step.kind.empty()) program.after.push_back(std::move(step));
  }
  return program;
}

std::vector<Tensor> ResultProgram::leaves(bool with_gradients) const {
  const Tensor counted = reshape(arange(0, shape.numel(), 1, {.dtype = Dtype::f64}), shape);
  std::vector<Tensor> out{counted * 0.25 - 1.0, cos(counted), counted * 0.125 + 0.5};
  for (const Tensor& leaf : out) leaf.requires_grad_(with_gradients);
  return out;
}

std::vector<Tensor> ResultProgram::arguments(const std::vector<Tensor>& leaves) const {
  std::vector<Tensor> out{leaves[0], leaves[1] * 1.5, leaves[2] + 0.25, leaves[0].detach() * 0.5};
  const Tensor& first = out[1];
  if (sharing == "row") out[2] = select(first, 0, 1);
  if (sharing == "rows") out[2] = narrow(first, 0, 0, 2);
  if (sharing == "transposed") out[2] = transpose(first, 0, 1);
  return out;
}

std::vector<Tensor> ResultProgram::run(const std::vector<Tensor>& arguments, const std::vector<int>& breaks) const {
  std::vector<Tensor> values = arguments;
  for (size_t i = 0; i < inside.size(); ++i) {
    if (inside[i].writes()) write(inside[i], values);
    else values.push_back(made(inside[i], values));
    if (std::ranges::find(breaks, static_cast<int>(i)) != breaks.end()) graph_break();
  }
  std::vector<Tensor> out;
  for (const int result : results) out.push_back(values[static_cast<size_t>(result)]);
  return out;
}

std::vector<Tensor> ResultProgram::go_on(std::vector<Tensor> values, const std::vector<Tensor>& given) const {
  values.insert(values.end(), given.begin(), given.end());
  for (const WriteStep& step : after) {
    if (step.writes()) write(step, values);
    else values.push_back(made(step, values));
  }
  return values;
}

Tensor ResultProgram::loss(const std::vector<Tensor>& values) {
  Tensor total = zeros({}, {.dtype = Dtype::f64});
  for (size_t i = 0; i < values.size(); ++i) {
    const Tensor weighted = sin(values[i]) * static_cast<double>(i + 1) + values[i] * 0.25;
    total = total + sum(weighted);
  }
  return total;
}

std::string ResultProgram::json() const {
  return "{\"shape\": " + test::json(shape.to_vector()) + ", \"sharing\": \"" + sharing +
         "\", \"inside\": " + test::json(inside) +
         ", \"results\": " + test::json(std::vector<int64_t>(results.begin(), results.end())) +
         ", \"after\": " + test::json(after) + "}";
}

}  // namespace fulgurite::test
