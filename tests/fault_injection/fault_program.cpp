#include "fault_injection/fault_program.h"

#include <random>

#include "pipeline/debug/compare_tensors.h"

namespace fulgurite::test {

namespace {

constexpr unsigned plain_kinds = 10, length = 11;

}  // namespace

FaultProgram::FaultProgram(unsigned seed) : seed_(seed) {
  std::mt19937 random(seed);
  for (unsigned i = 0; i < length; ++i) {
    Step step{
        i % 3 == 1 ? plain_kinds + static_cast<unsigned>(random() % 4) : static_cast<unsigned>(random() % plain_kinds),
        0};
    if (step.kind >= plain_kinds) {
      step.place = first_place + places_.size();
      places_.push_back(static_cast<Spot>(step.kind - plain_kinds));
    }
    steps_.push_back(step);
  }
}

Tensor FaultProgram::operator()(const std::vector<Tensor>& inputs) const {
  Tensor v = inputs[0];
  for (const Step& step : steps_) {
    const Tensor at = step.place ? inputs[step.place] : Tensor();
    switch (step.kind) {
      case 0: v = tanh(v); break;
      case 1: v = sigmoid(v) - 0.3; break;
      case 2: v = v * 0.75 + 0.125; break;
      case 3: v = sin(v); break;
      case 4: v = gelu(v); break;
      case 5: v = silu(v) + v; break;
      case 6: {
        const Tensor mean = fulgurite::mean(v, {-1}, true);
        v = (v - mean) * rsqrt(fulgurite::var(v, {-1}, 1, true) + 0.5);
        break;
      }
      case 7: v = softmax(v, -1) * 4.0; break;
      case 8: v = matmul(v, inputs[1]); break;
      case 9: v = v / (abs(v) + 1.5); break;
      case 10: {
        const Tensor logarithm = log(at);
        v = v + logarithm;
        break;
      }
      case 11: {
        const Tensor dividend = at * 2.0;
        v = v * (dividend / at);
        break;
      }
      case 12: {
        const Tensor shifted = v + at;
        v = shifted - at;
        break;
      }
      default: {
        const Tensor root = sqrt(at);
        v = v * root;
      }
    }
  }
  const Tensor squares = v * v;
  return sum(squares + v);
}

std::vector<Tensor> FaultProgram::inputs() const {
  manual_seed(seed_);
  const Tensor x = randn({6, 32}), w = randn({32, 32}) * 0.2;
  std::vector<Tensor> out = {x.requires_grad_(), w.detach().requires_grad_()};
  for (const Spot place : places_) {
    const Tensor ones = rand({6, 32}) + 0.5;
    out.push_back(place == Spot::root ? ones.detach().requires_grad_() : ones.detach());
  }
  return out;
}

std::string error_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

std::vector<Tensor> results_of(const std::function<Tensor(std::vector<Tensor>)>& function,
                               const FaultProgram& program) {
  const std::vector<Tensor> inputs = program.inputs();
  const Tensor result = function(inputs);
  result.backward();
  std::vector<Tensor> out = {result.detach()};
  for (const Tensor& input : inputs)
    if (input.requires_grad())
      out.push_back(input.grad().defined() ? input.grad().detach() : zeros_like(input.detach()));
  return out;
}

bool are_close(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (find_difference(a[i], b[i], AllowedDifference{1e-2, 1e-3})) return false;
  return true;
}

}  // namespace fulgurite::test
