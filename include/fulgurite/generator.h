#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <memory>
#include <utility>

#include <fulgurite/fields.h>
#include <fulgurite/source_location.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

class Tensor;
class GeneratorState;

/// A stream of random numbers of its own: `rand({3}, {.generator = g})`, `normal_(x, 0, 1, g)`. The same seed gives the
/// same numbers as manual_seed() gives without a generator, on any number of threads. Copies of the handle are one
/// stream; a generator may be used from several threads, which then share it. A draw inside a jitted function ends a
/// piece, as item() does, so that it advances the generator at every call.
class Generator {
 public:
  explicit Generator(uint64_t seed = 67280421310721u);
  explicit Generator(std::shared_ptr<GeneratorState> state) : state_(std::move(state)) {}

  /// Starts over with another seed.
  Generator& manual_seed(uint64_t seed, SourceLocation at = SourceLocation::here());
  /// The seed that the stream started from.
  uint64_t initial_seed() const;
  /// An i64 tensor of [seed, offset], to be saved.
  Tensor get_state(SourceLocation at = SourceLocation::here()) const;
  /// Continues where get_state() was taken; throws UserError unless it is an i64 tensor of two elements.
  void set_state(const Tensor& state, SourceLocation at = SourceLocation::here());
  /// A generator with a stream of its own that continues as this one would.
  Generator clone() const;

  GeneratorState& state() const { return *state_; }

 private:
  std::shared_ptr<GeneratorState> state_;
};

/// The generator that operators draw from without one of their own; manual_seed() seeds it.
Generator default_generator();

/// A generator is passed into jitted functions as it is.
template <>
struct Fields<Generator> {
  static void visit(auto&, auto&&) {}
};

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
