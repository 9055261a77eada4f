#include "support/programs/random_program.h"

#include "support/cases/operator_cases.h"
#include "support/programs/random_run.h"

namespace fulgurite::test {

using namespace detail;

std::vector<Tensor> RandomProgram::inputs() const {
  std::mt19937 random(seed_);
  const int64_t sizes[] = {1, 2, 3, 4, 5};
  std::vector<int64_t> shape;
  for (unsigned i = 0; i < 2 + seed_ % 2; ++i) shape.push_back(sizes[random() % 5]);
  const auto count_of = [](const std::vector<int64_t>& sizes_of) {
    int64_t count = 1;
    for (const int64_t n : sizes_of) count *= n;
    return count;
  };
  const auto numbers = [&](int64_t count) {
    std::vector<double> out;
    for (int64_t k = 0; k < count; ++k) out.push_back(static_cast<double>(random() % 4000001) / 1e6 - 2.0);
    return tensor(out).to(options_.dtype);
  };
  std::vector<Tensor> inputs;
  for (int i = 0; i < 3; ++i) {
    // The same sizes, fewer of them or with ones in them, so that they broadcast.
    std::vector<int64_t> mine(shape.begin() + (i == third_input ? 1 : 0), shape.end());
    if (i == second_input) mine[random() % mine.size()] = 1;
    inputs.push_back(reshape(numbers(count_of(mine)), mine).clone().requires_grad_(i != third_input || seed_ % 3 != 0));
  }
  const std::vector<int64_t> short_shape(shape.begin() + 1, shape.end());
  std::vector<int64_t> flags, places;
  for (int64_t k = 0; k < count_of(short_shape); ++k) flags.push_back(random() % 3 != 0);
  for (int k = 0; k < 5; ++k) places.push_back(static_cast<int64_t>(random() % 5));
  inputs.push_back(tensor(flags).reshape(short_shape).to(Dtype::boolean));
  inputs.push_back(tensor(places));
  inputs.push_back(numbers(shift_count) * 0.25);
  if (options_.repeats_input) inputs.push_back(inputs[first_input]);
  return inputs;
}

std::vector<Tensor> RandomProgram::operator()(const std::vector<Tensor>& inputs) const {
  return RandomRun(seed_, options_, inputs, nullptr).program();
}

RandomProgram::Range RandomProgram::range(const std::vector<Tensor>& inputs) const {
  const NoGrad no_grad;
  manual_seed(case_seed);
  Range range;
  for (const Tensor& result : RandomRun(seed_, options_, inputs, &range.to_kink).program())
    for (const double number : numbers_of(result))
      range.largest = std::isfinite(number) ? std::max(range.largest, std::fabs(number)) : HUGE_VAL;
  return range;
}

RandomProgram draw_random_program(unsigned number, Dtype dtype) {
  for (unsigned attempt = 0;; ++attempt) {
    const unsigned seed = number * 1009u + attempt;
    const RandomProgram program(
        seed, {.dtype = dtype, .operators = 1 + static_cast<int>(seed % 23), .repeats_input = number % 5 == 0});
    const std::vector<Tensor> inputs = program.inputs();
    const RandomProgram::Range range = program.range(inputs);
    if (range.to_kink < 1e-4 || range.largest > 1e4) continue;
    const Trace recorded = trace([&](std::vector<Tensor> tensors) { return program(tensors); }, inputs);
    const Trace cleaned = eliminate_dead_code(canonical_order(recorded));
    const size_t symbols = cleaned.bound_symbols.size() - 1;
    if (symbols < 3 || symbols > 40) continue;
    for (const Value& result : cleaned.bound_symbols.back().flat_args())
      if (result.is_tensor() && result.tensor().requires_grad) return program;
  }
}

}  // namespace fulgurite::test
