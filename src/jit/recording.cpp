#include "jit/recording.h"

#include <algorithm>
#include <bit>
#include <set>

#include <fulgurite/error_parts.h>
#include <fulgurite/operators.h>

#include "ir/analysis/uses.h"
#include "ir/substitution.h"
#include "jit/arguments/leaf_names.h"
#include "jit/arguments/shared_arguments.h"
#include "ops/core/autocast.h"
#include "ir/structural.h"
#include "tracing/tracer.h"
#include "transforms/in_place.h"

namespace fulgurite::detail {

namespace {

/// Creates symbols for the symbolic words of the leaves, leaf by leaf.
class SymbolBinder {
 public:
  SymbolBinder(Tracer& tracer, const RecordRequest& request)
      : tracer_(tracer), flat_(request.flat), takes_(request.takes_symbols) {}

  bool has_symbols() const { return takes_ && flat_.has_symbols(); }

  /// A tensor that is bound for the first time: its handle; undefined if none of its sizes is a symbol.
  Tensor bind(size_t leaf, const std::string& name) {
    const Tensor& concrete = *flat_.tensors()[leaf];
    bool is_new = true;
    for (size_t i = 0; i < leaf && is_new; ++i) is_new = !flat_.tensors()[i]->is_same(concrete);
    Shape shape = concrete.shape();
    bool any = false;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (!is_next(flat_.header(leaf) + 1 + d)) continue;
      const int input = next_++;
      if (!is_new) continue;  // the sizes are those of its first position
      shape[d] = tracer_.scalars().add_size(shape[d].hint(), input);
      any = true;
    }
    if (!any) return {};
    Tensor handle = tracer_.bind_concrete(concrete, name, shape);
    tracer_.bind_sizes(handle);
    return handle;
  }

  void bind_number(const LeafPath& path, const std::string& name) {
    if (!has_symbols() || path.argument == LeafPath::callable_member ||
        static_cast<size_t>(next_) >= flat_.symbols().size())
      return;
    const uint64_t bits = flat_.key()[flat_.symbols()[static_cast<size_t>(next_)]];
    if (path.is_integer) integers_.push_back(tracer_.scalars().add_integer(static_cast<int64_t>(bits), name, next_++));
    else if (path.is_floating)
      floats_.push_back(tracer_.scalars().add_float(std::bit_cast<double>(bits), name, next_++));
  }

  /// Null if numbers stay unchanged.
  const Int* integers() const { return integers_.empty() ? nullptr : integers_.data(); }
  const Float* floats() const { return floats_.empty() ? nullptr : floats_.data(); }

 private:
  bool is_next(size_t word) const {
    return has_symbols() && static_cast<size_t>(next_) < flat_.symbols().size() &&
           flat_.symbols()[static_cast<size_t>(next_)] == word;
  }

  Tracer& tracer_;
  const FlatArguments& flat_;
  bool takes_;
  int next_ = 0;
  std::vector<Int> integers_;
  std::vector<Float> floats_;
};

// Binds every tensor leaf to an input of the trace; returns the handles for the arguments' leaves.
std::vector<Tensor> bind_inputs(Tracer& tracer, const RecordRequest& request, const Containers& containers,
                                SymbolBinder& symbols, Recording& recording,
                                std::unordered_map<const TensorImpl*, int>& leaf_of) {
  std::vector<Tensor> handles;
  std::vector<Tensor> by_leaf(request.flat.tensors().size());
  struct Contained {
    int leaf;
    size_t handle;
  };
  std::vector<Contained> contained;
  size_t tensor = 0;
  for (size_t i = 0; i < request.paths.size(); ++i) {
    const LeafPath& path = request.paths[i];
    if (!path.is_tensor) {
      symbols.bind_number(path, request.names[i]);
      continue;
    }
    const size_t leaf = tensor++;
    const Tensor& concrete = *request.flat.tensors()[leaf];
    Tensor handle;
    if (concrete.defined() && !containers.empty() && containers[leaf] >= 0 &&
        path.argument != LeafPath::callable_member) {
      contained.push_back({static_cast<int>(leaf), handles.size()});
    } else if (concrete.defined()) {
      const bool is_argument = path.argument != LeafPath::callable_member;
      if (symbols.has_symbols()) handle = symbols.bind(leaf, request.names[i]);
      if (handle.defined()) recording.has_symbols = true;
      else if (!is_argument || !request.with_respect_to) handle = tracer.bind_concrete(concrete, request.names[i]);
      else if (!(*request.with_respect_to)[leaf]) handle = tracer.bind_concrete(concrete, request.names[i], false);
      else
        handle = tracer.add_argument({concrete.shape(), concrete.dtype(), concrete.device()}, true, request.names[i],
                                     request.at, true, concrete);
      const int id = handle.impl()->proxy->id;
      const auto has_id = [&](const RecordedInput& input) { return input.id == id; };
      if (std::ranges::none_of(recording.inputs, has_id)) recording.inputs.push_back({id, static_cast<int>(leaf), {}});
    }
    by_leaf[leaf] = handle;
    if (handle.defined()) leaf_of.emplace(handle.impl().get(), static_cast<int>(leaf));
    if (path.argument != LeafPath::callable_member) handles.push_back(handle);
  }
  for (const Contained& inner : contained) {
    const int outer = containers[inner.leaf];
    const auto& tensors = request.flat.tensors();
    handles[inner.handle] = view_of_container(by_leaf[outer], *tensors[outer], *tensors[inner.leaf], request.at);
    leaf_of.emplace(handles[inner.handle].impl().get(), inner.leaf);
  }
  return handles;
}

// Sorts the captured inputs, which were met in the order in which the C++ compiler evaluated operands, by first use,
// and numbers the unnamed ones in that order.
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
  for (size_t i = 0; i < first; ++i) taken.insert(proxy_name(trace.args[i]));
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

// Inputs by their ids, until all have a position.
void note_written(const Tracer& tracer, std::vector<Value>& results, Recording& recording) {
  recording.written = tracer.writes().add_written(results);
  for (auto& [input, result] : recording.written) {
    input = tracer.captures()[input].proxy->id;
    recording.requires_grad = recording.requires_grad || results[result].tensor().requires_grad;
    if (recording.kept) recording.kept->push_back(result);
    result = recording.result_count++;
  }
}

// The values of a result's tensors.
std::vector<Value> result_values(Tracer& tracer, const std::vector<Tensor>& results, Recording& recording) {
  std::vector<Value> values;
  for (const Tensor& result : results) {
    recording.result_slots.push_back(result.defined() ? recording.result_count++ : -1);
    if (result.defined()) values.push_back(tracer.value_of(result));
  }
  return values;
}

void note_plan(ResultPlan plan, Recording& recording) {
  const bool keeps_all = plan.shared.empty() && static_cast<int>(plan.kept.size()) == recording.result_count;
  recording.result_slots = std::move(plan.slots);
  recording.shared = std::move(plan.shared);
  recording.result_count = static_cast<int>(plan.kept.size());
  if (!keeps_all) recording.kept = std::move(plan.kept);
}

int position_of(const Recording& recording, int id) {
  const auto has_id = [&](const RecordedInput& input) { return input.id == id; };
  return static_cast<int>(std::ranges::find_if(recording.inputs, has_id) - recording.inputs.begin());
}

// Facts about arguments and captured tensors, beside their types, that the function has read.
void note_facts(Tracer& tracer, const RecordRequest& request, Recording& recording) {
  for (const int id : tracer.views().observed_strides()) {
    for (const RecordedInput& input : recording.inputs)
      if (input.id == id && input.leaf != RecordedInput::captured)
        recording.observed_strides.push_back(
            {input, request.flat.tensors()[static_cast<size_t>(input.leaf)]->impl()->strides});
    for (const Tracer::Capture& capture : tracer.captures()) {
      const bool is_argument = !recording.observed_strides.empty() && recording.observed_strides.back().input.id == id;
      if (capture.proxy->id == id && !is_argument && !is_proxy(capture.concrete))
        recording.observed_strides.push_back(
            {{id, RecordedInput::captured, capture.concrete}, capture.concrete.impl()->strides});
    }
  }
  size_t leaf = 0;
  for (const LeafPath& path : request.paths) {
    if (!path.is_tensor) continue;
    const Tensor& tensor = *request.flat.tensors()[leaf];
    if (path.argument != LeafPath::callable_member && tensor.defined() && tracer.inputs().was_reached(tensor))
      recording.reached.emplace_back(static_cast<int>(leaf), tensor);
    ++leaf;
  }
}

Recording record(const RecordRequest& request, const Containers& containers) {
  Recording recording;
  Tracer tracer;
  if (request.memory_budget) tracer.set_memory_budget(request.memory_budget);
  if (request.executors) tracer.set_executors(*request.executors);
  if (request.runner) tracer.graph_breaks().set_runner(request.runner);
  if (!request.no_breaks.empty()) tracer.graph_breaks().forbid(request.no_breaks);
  const std::optional<Dtype> autocast = request.autocast ? request.autocast : autocast_dtype();
  const InterpreterScope scope(&tracer);
  const AutocastScope autocast_scope(autocast);
  try {
    SymbolBinder symbols(tracer, request);
    std::unordered_map<const TensorImpl*, int> leaf_of;
    const std::vector<Tensor> handles = bind_inputs(tracer, request, containers, symbols, recording, leaf_of);
    const size_t bound_count = tracer.trace().args.size();

    Replay replay{handles.data(), request.at, {}, symbols.integers(), symbols.floats()};
    recording.has_symbols = recording.has_symbols || replay.integers || replay.floats;
    recording.rest = request.table.run(request.callable, request.arguments, replay);
    recording.integers.assign(replay.result_integers.begin(), replay.result_integers.end());
    recording.floats.assign(replay.result_floats.begin(), replay.result_floats.end());
    if (tracer.has_breaks() || request.is_broken) {
      tracer.graph_breaks().end_subgraph();
      recording.has_graph_breaks = true;
      for (const Tensor& result : replay.results)
        recording.results.push_back(result.defined() ? tracer.concrete_of(result) : result);
      return recording;
    }

    std::vector<Value> results = result_values(tracer, replay.results, recording);
    if (request.plans_results) note_plan(plan_results(tracer, replay.results, leaf_of, results), recording);
    for (int i = 0; i < recording.result_count; ++i)
      recording.requires_grad =
          recording.requires_grad || results[recording.kept ? (*recording.kept)[i] : i].tensor().requires_grad;
    std::set<int> named;
    for (const Tracer::Capture& capture : tracer.captures())
      if (!capture.concrete.name().empty()) named.insert(capture.proxy->id);
    if (!request.with_respect_to) note_written(tracer, results, recording);
    recording.trace = tracer.finish(Value(std::move(results)));
    arrange(recording.trace, bound_count, named);
    for (size_t i = bound_count; i < recording.trace.args.size(); ++i) {
      const int id = recording.trace.args[i].tensor().id;
      for (const Tracer::Capture& capture : tracer.captures())
        if (capture.proxy->id == id)
          recording.inputs.push_back(
              {id, RecordedInput::captured, capture.concrete, leaf_that_shares(capture.concrete, request.flat)});
    }
    for (auto& [input, result] : recording.written) input = position_of(recording, input);
    note_facts(tracer, request, recording);
  } catch (const RuleError& error) {
    throw UserError(error.message, request.at);
  }
  return recording;
}

}  // namespace

int leaf_that_shares(const Tensor& tensor, const FlatArguments& flat) {
  const auto& tensors = flat.tensors();
  if (is_proxy(tensor)) return -1;
  for (size_t leaf = 0; leaf < tensors.size(); ++leaf)
    if (tensors[leaf]->defined() && tensors[leaf]->impl()->storage == tensor.impl()->storage)
      return static_cast<int>(leaf);
  return -1;
}

void arrange(Trace& trace, size_t first, const std::set<int>& named) {
  bring_into_canonical_order(trace);
  order_captures(trace, first, named);
}

Recording record_callable(const RecordRequest& request) {
  const bool shares = share_memory(request.flat);
  if (request.is_broken && shares) return record(request, find_containers(request));
  const bool has_symbols = request.takes_symbols && request.flat.has_symbols();
  if (request.runner) request.runner->restarts_at_break = shares || has_symbols;
  try {
    Recording recording = record(request, {});
    if (recording.has_graph_breaks || !writes_into_shared(recording, request.flat)) return recording;
  } catch (const Retrace&) {
  }
  // Once more, with tensors in the memory of others as views of them, and without symbols.
  if (request.runner) request.runner->restarts_at_break = false;
  RecordRequest again = request;
  again.takes_symbols = false;
  return record(again, find_containers(again));
}

void check_writes(const Recording& recording, const FlatArguments& flat, const std::string& what, SourceLocation at) {
  const auto tensor_of = [&](const RecordedInput& input) -> const Tensor& {
    return input.leaf == RecordedInput::captured ? input.tensor : *flat.tensors()[input.leaf];
  };
  const auto name_of = [&](const RecordedInput& input) -> const std::string& {
    for (const Value& arg : recording.trace.args)
      if (arg.is_tensor() && arg.tensor().id == input.id) return arg.tensor().name;
    throw InternalError("a recorded input is not an argument of its trace");
  };
  for (const BoundSymbol& bound : recording.trace.bound_symbols) {
    if (!is_write(bound)) continue;
    for (const RecordedInput& written : recording.inputs) {
      if (written.id != bound.args[1].tensor().id) continue;
      for (const RecordedInput& other : recording.inputs)
        if (other.id != written.id && memory_of(tensor_of(other)) == memory_of(tensor_of(written)))
          throw SharedMemoryError(text::cat(what, " writes into ", name_of(written), ", which shares memory with ",
                                            name_of(other), "; pass a clone of one of them"),
                                  at);
    }
  }
}

}  // namespace fulgurite::detail
