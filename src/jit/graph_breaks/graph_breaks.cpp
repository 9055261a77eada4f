#include "jit/graph_breaks/graph_breaks.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fulgurite/error.h>

#include "autograd/engine/tensor_autograd.h"
#include "jit/arguments/leaf_names.h"
#include "jit/cache/structure_key.h"
#include "jit/diagnostics/composite_error.h"
#include "ir/structural.h"
#include "support/log.h"
#include "support/text/base_name.h"
#include "support/text/text.h"

namespace fulgurite::detail {

void CallWithBreaks::note_break(const std::string& what, SourceLocation at) {
  if (restarts_at_break) throw Retrace{};
  const std::string_view file = text::base_name(at.line > 0 ? at.file : "");
  start_ = std::exchange(last_break_, at);
  ends_at_break_ = true;
  breaks_.push_back(at.line > 0 ? text::cat(what, " at ", file, ":", at.line) : what);
}

std::vector<Tensor> CallWithBreaks::run(Subgraph subgraph) {
  if (flight_) flight_->end();
  Recording recording;
  std::set<int> named;
  for (const Subgraph::Input& input : subgraph.inputs)
    if (input.is_named) named.insert(input.proxy->id);
  recording.trace = std::move(subgraph.trace);
  arrange(recording.trace, 0, named);
  if (recording.trace.bound_symbols.size() == 1 && subgraph.kept == 0) return {};

  std::vector<Tensor> inputs;
  for (const Value& arg : recording.trace.args) {
    const auto is_this = [&](const Subgraph::Input& input) { return input.proxy->id == arg.proxy_id(); };
    recording.inputs.push_back(
        {arg.proxy_id(), RecordedInput::captured, std::ranges::find_if(subgraph.inputs, is_this)->concrete});
    inputs.push_back(recording.inputs.back().tensor);
  }
  check_writes(recording, flat_, "the jitted function", at_);
  if (state_.options().debug.verify_against_eager) check_writes_only_arguments(recording);
  for (const Value& result : recording.trace.bound_symbols.read().back().args)
    recording.requires_grad = recording.requires_grad || (result.is_tensor() && result.tensor().requires_grad);
  recording.result_count = static_cast<int>(recording.trace.bound_symbols.read().back().args.size());

  const SourceLocation start = std::exchange(ends_at_break_, false) ? start_ : last_break_;
  subgraphs_.push_back(state_.subgraph(recording, start, at_));
  ResultList results;
  try {
    run_on(*subgraphs_.back(), inputs, results);
  } catch (const CallError& error) {
    rethrow_for_composite(state_.store().stages(*subgraphs_.back())->forward, error);
  }
  for (const auto& [input, result] : subgraph.written) give_history(results[result], subgraph.inputs[input].concrete);
  return {results.begin(), results.begin() + static_cast<std::ptrdiff_t>(subgraph.kept)};
}

// verify_against_eager runs the function a second time: the tensors that it writes must have been copied before.
void CallWithBreaks::check_writes_only_arguments(const Recording& recording) const {
  size_t argument_tensors = 0;
  for (const LeafPath& path : paths_) argument_tensors += path.is_tensor && path.argument != LeafPath::callable_member;
  for (const BoundSymbol& bound : recording.trace.bound_symbols) {
    if (!is_write(bound)) continue;
    for (const RecordedInput& input : recording.inputs) {
      if (input.id != bound.args[1].proxy_id()) continue;
      bool is_argument = false;
      for (size_t leaf = 0; leaf < argument_tensors; ++leaf)
        is_argument = is_argument || (flat_.tensors()[leaf]->defined() && flat_.tensors()[leaf]->is_same(input.tensor));
      if (!is_argument)
        throw UserError(text::cat("verify_against_eager: the function writes into ", bound.args[1].tensor().name,
                                  ", which is not an argument; it cannot be run twice"),
                        at_);
    }
  }
}

Tensor CallWithBreaks::alias_of(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  Tensor alias = make_view(impl.storage, impl.sizes, impl.strides, impl.offset, impl.dtype);
  if (Edge edge = gradient_edge(tensor); edge.node) set_history(alias, std::move(edge.node), edge.output);
  return alias;
}

std::shared_ptr<const CacheEntry> JitState::subgraph(const Recording& recording, SourceLocation start,
                                                     SourceLocation at) {
  SmallVector<uint64_t, 64> key = structure_key(recording.trace);
  key.push_back(start.line > 0 ? reinterpret_cast<uintptr_t>(start.file) : 0);  // "" may have several addresses
  key.push_back(static_cast<uint64_t>(start.line));
  const uint64_t hash = hash_of(key);
  if (std::shared_ptr<const CacheEntry> known = store_.find_subgraph(key, hash)) return known;
  if (options_.cache != Cache::no_caching)
    if (const auto warning = recompiles_.count_subgraph(start, at)) warn(*warning);
  const auto now = std::chrono::steady_clock::now();
  auto subgraph = std::make_shared<CacheEntry>();
  subgraph->when = std::chrono::system_clock::now();
  subgraph->called_at = at;
  compile_recording(*subgraph, recording, recording.requires_grad);
  subgraph->key = std::move(key);
  subgraph->reason = "first call of this subgraph";
  finish_times(*subgraph, now);
  log_compile(*this, *subgraph);
  add_times(*subgraph);
  store_.add_subgraph(subgraph, hash);
  return subgraph;
}

void JitState::call_with_breaks(const CallableTable& table, const void* const* arguments, const FlatArguments& flat,
                                SourceLocation at, CallResult& result) {
  std::vector<LeafPath> paths;
  table.paths(callable_.get(), arguments, paths);
  const std::vector<std::string> names = leaf_names(paths, flat, options_.argument_names);
  CallWithBreaks runner(*this, flat, paths, at);
  RecordRequest request{table,   callable_.get(),        arguments,          flat, paths, names, at,
                        nullptr, options_.memory_budget, &options_.executors};
  request.runner = &runner;
  if (options_.fullgraph) request.no_breaks = "with fullgraph = true";
  request.is_broken = true;
  request.autocast = options_.autocast;
  Recording recording = record_callable(request);
  if (!recording.has_graph_breaks) throw InternalError("a function with graph breaks was run without one");
  result.rest = std::move(recording.rest);
  result.tensors.assign(recording.results.begin(), recording.results.end());
  keep_last(runner.subgraphs());
}

}  // namespace fulgurite::detail
