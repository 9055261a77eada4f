#include <algorithm>

#include <fulgurite/random_state.h>
#include <fulgurite/trace.h>

#include "ir/analysis/effects.h"
#include "jit/jit_state.h"
#include "ops/core/dispatch.h"

namespace fulgurite {

namespace {

bool draws_in(const BoundSymbol& line) {
  return draws_numbers(*line.symbol) || std::ranges::any_of(line.subsymbols, draws_in);
}

bool draws_in(const Trace& trace) {
  return std::ranges::any_of(trace.bound_symbols, [](const BoundSymbol& line) { return draws_in(line); });
}
/// The stages of all subgraphs. A draw whose numbers are not used counts: eager mode draws them too.
bool draws_in(const std::vector<Trace>& stages) {
  return std::ranges::any_of(stages, [](const Trace& trace) { return draws_in(trace); });
}

}  // namespace

RandomState random_state() { return context().generator.state(); }

void set_random_state(RandomState state, SourceLocation at) {
  act_immediately("set_random_state()", at);
  context().generator.set_state(state);
}

bool draws(const Jitted& f) { return draws_in(last_traces(f)) || draws_in(last_backward_traces(f)); }

}  // namespace fulgurite
