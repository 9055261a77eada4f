#include "jit/recording.h"

#include <algorithm>
#include <set>

#include <fulgurite/error.h>

#include "ir/substitution.h"
#include "ir/uses.h"
#include "jit/leaf_names.h"
#include "ops/symbols.h"
#include "tracing/tracer.h"
#include "transforms/in_place.h"

namespace fulgurite::detail {

namespace {

// Binds every tensor leaf to an input of the trace; gives the handles for the arguments' leaves.
std::vector<Tensor> bind_inputs(Tracer& tracer, const RecordRequest& request, Recording& recording) {
  std::vector<Tensor> handles;
  size_t tensor = 0;
  for (size_t i = 0; i < request.paths.size(); ++i) {
    const LeafPath& path = request.paths[i];
    if (!path.is_tensor) continue;
    const size_t leaf = tensor++;
    const Tensor& concrete = *request.leaves.tensors()[leaf];
    Tensor handle;
    if (concrete.defined()) {
      const bool is_argument = path.argument != LeafPath::callable_member;
      if (is_argument && request.with_respect_to)
        handle = tracer.add_argument({concrete.shape(), concrete.dtype(), concrete.device()},
                                     (*request.with_respect_to)[leaf], request.names[i], request.at);
      else handle = tracer.bind_concrete(concrete, request.names[i]);
      const int id = handle.impl()->proxy->id;
      const auto has_id = [&](const RecordedInput& input) { return input.id == id; };
      if (std::ranges::none_of(recording.inputs, has_id)) recording.inputs.push_back({id, static_cast<int>(leaf), {}});
    }
    if (path.argument != LeafPath::callable_member) handles.push_back(handle);
  }
  return handles;
}

// Brings the captured inputs, which were met in the order in which the C++ compiler evaluated operands, into the order
// of their uses, and numbers those without a name in it.
void order_captures(Trace& trace, size_t first, const std::set<int>& named) {
  if (first >= trace.args.size()) return;
  std::vector<int> position(trace.next_id, 0);
  int next = 0;
  for (const BoundSymbol& bound : trace.bound_symbols)
    for_each_use(bound, [&](int id) {
      if (position[id] == 0) position[id] = ++next;
    });
  const auto place = [&](const Value& arg) {
    const int seen = position[arg.tensor().id];
    return seen == 0 ? next + 1 : seen;
  };
  std::stable_sort(trace.args.begin() + static_cast<int64_t>(first), trace.args.end(),
                   [&](const Value& a, const Value& b) { return place(a) < place(b); });

  std::set<std::string> taken;
  for (size_t i = 0; i < first; ++i) taken.insert(trace.args[i].tensor().name);
  Substitution renamed(trace.next_id);
  size_t number = first;
  for (size_t i = first; i < trace.args.size(); ++i) {
    const TensorProxy& old = trace.args[i].tensor();
    const bool is_named = named.contains(old.id);
    std::string name = is_named ? old.name : text::cat("t_", number++);
    for (int suffix = 1; !taken.insert(name).second; ++suffix)
      name = is_named ? text::cat(old.name, "_", suffix) : text::cat("t_", number++);
    if (name == old.name) continue;
    auto* proxy = new TensorProxy(old);
    proxy->name = std::move(name);
    const Value value{Ref<TensorProxy>(proxy)};
    renamed.set(old.id, value);
    trace.args[i] = value;
  }
  for (BoundSymbol& bound : trace.bound_symbols) renamed.apply(bound);
}

}  // namespace

Recording record_callable(const RecordRequest& request) {
  Recording recording;
  Tracer tracer;
  if (request.memory_budget) tracer.set_memory_budget(request.memory_budget);
  if (request.executors) tracer.set_executors(*request.executors);
  const InterpreterScope scope(&tracer);
  try {
    const std::vector<Tensor> handles = bind_inputs(tracer, request, recording);
    const size_t bound_count = recording.inputs.size();

    Replay replay{handles.data(), request.at, {}};
    recording.rest = request.table.run(request.callable, request.arguments, replay);

    std::vector<Value> results;
    for (const Tensor& result : replay.results) {
      if (!result.defined()) {
        recording.result_slots.push_back(-1);
        continue;
      }
      results.push_back(tracer.value_of(result));
      recording.requires_grad = recording.requires_grad || results.back().tensor().requires_grad;
      recording.result_slots.push_back(recording.result_count++);
    }
    std::set<int> named;
    for (const Tracer::Capture& capture : tracer.captures())
      if (!capture.concrete.name().empty()) named.insert(capture.proxy->id);
    recording.trace = tracer.finish(Value(std::move(results)));
    bring_into_canonical_order(recording.trace);
    order_captures(recording.trace, bound_count, named);
    for (size_t i = bound_count; i < recording.trace.args.size(); ++i) {
      const int id = recording.trace.args[i].tensor().id;
      for (const Tracer::Capture& capture : tracer.captures())
        if (capture.proxy->id == id) recording.inputs.push_back({id, RecordedInput::captured, capture.concrete});
    }
  } catch (const RuleError& error) {
    throw UserError(error.message, request.at);
  }
  return recording;
}

}  // namespace fulgurite::detail
