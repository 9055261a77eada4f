#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>

#include <fulgurite/source_location.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

class Jitted;

/// A place in the stream of random numbers: element i of a draw uses the counter offset + i under the key seed.
struct RandomState {
  uint64_t seed = 0, offset = 0;
  friend bool operator==(const RandomState&, const RandomState&) = default;
};

/// The place at which the next draw of the process begins. PyTorch: torch.get_rng_state.
RandomState random_state();
/// Has the next draw begin there. In a traced function it ends a piece, as item() does. PyTorch: torch.set_rng_state.
void set_random_state(RandomState, SourceLocation at = SourceLocation::here());
/// True if the program of a function's last call draws random numbers, forward or backward.
bool draws(const Jitted&);

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
