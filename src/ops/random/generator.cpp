// Generators of random numbers, as objects of programs.
#include <fulgurite/error.h>
#include <fulgurite/random.h>
#include <fulgurite/tensor.h>

#include "ops/core/dispatch.h"
#include "support/context.h"
#include "support/text/text.h"

namespace fulgurite {

Generator::Generator(uint64_t seed) : state_(std::make_shared<GeneratorState>(seed)) {}

Generator& Generator::manual_seed(uint64_t seed, SourceLocation at) {
  act_immediately("Generator::manual_seed()", at);
  state_->seed(seed);
  return *this;
}

uint64_t Generator::initial_seed() const { return state_->state().seed; }

Tensor Generator::get_state(SourceLocation at) const {
  act_immediately("Generator::get_state()", at);
  const RandomState state = state_->state();
  return tensor(std::vector<int64_t>{static_cast<int64_t>(state.seed), static_cast<int64_t>(state.offset)}, {}, at);
}

void Generator::set_state(const Tensor& state, SourceLocation at) {
  act_immediately("Generator::set_state()", at);
  if (!state.defined() || state.dtype() != Dtype::i64 || state.ndim() != 1 || state.numel() != 2)
    throw UserError(text::cat("Generator::set_state(): the state is an i64 tensor of [seed, offset], not ",
                              state.defined() ? type_text(state) : "undefined"),
                    at);
  const std::vector<int64_t> words = state.to_vector<int64_t>(at);
  state_->set_state({static_cast<uint64_t>(words[0]), static_cast<uint64_t>(words[1])});
}

Generator Generator::clone() const {
  Generator copy;
  copy.state_->set_state(state_->state());
  return copy;
}

Generator default_generator() {
  return Generator(std::shared_ptr<GeneratorState>(std::shared_ptr<void>(), &context().generator));
}

Tensor get_rng_state(SourceLocation at) { return default_generator().get_state(at); }
void set_rng_state(const Tensor& state, SourceLocation at) { default_generator().set_state(state, at); }

}  // namespace fulgurite
