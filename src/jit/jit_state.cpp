#include "jit/jit_state.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include <fulgurite/error.h>

#include "ir/trace_values.h"
#include "jit/leaf_names.h"
#include "jit/pieces.h"
#include "ops/dispatch.h"
#include "ops/symbols.h"
#include "support/text.h"

namespace fulgurite::detail {

namespace {

void append_captures_key(const std::vector<Tensor>& captures, SmallVector<uint64_t, 64>& key) {
  for (const Tensor& tensor : captures) append_tensor_key(*tensor.impl(), key);
}

// verify_against_eager runs the function a second time: what it writes into must have been copied before.
void check_writes_only_arguments(const Recording& recording, const std::vector<LeafPath>& paths, SourceLocation at) {
  int argument_tensors = 0;
  for (const LeafPath& path : paths) argument_tensors += path.is_tensor && path.argument != LeafPath::callable_member;
  for (const BoundSymbol& bound : recording.trace.bound_symbols) {
    if (bound.symbol != &prims_copy__symbol) continue;
    for (const RecordedInput& input : recording.inputs)
      if (input.id == bound.args[1].tensor().id &&
          (input.leaf == RecordedInput::captured || input.leaf >= argument_tensors))
        throw UserError(text::cat("verify_against_eager: the function writes into ", bound.args[1].tensor().name,
                                  ", which is not an argument; it cannot be run twice"),
                        at);
  }
}

bool is_ours(const std::exception& error) {
  return dynamic_cast<const UserError*>(&error) != nullptr || dynamic_cast<const InternalError*>(&error) != nullptr;
}

std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

}  // namespace

JitState::JitState(std::shared_ptr<void> callable, JitOptions options, std::vector<Transform> transforms,
                   SourceLocation made_at)
    : callable_(std::move(callable)),
      options_(std::move(options)),
      transforms_(std::move(transforms)),
      made_at_(made_at) {}

JitState::~JitState() = default;

bool holds(const CompiledVersion& version, const Leaves& leaves) {
  if (!same_words(version.key, leaves.key())) return false;
  if (version.captures.empty()) return true;
  SmallVector<uint64_t, 64> now;
  append_captures_key(version.captures, now);
  return same_words(version.capture_key, now);
}

const CompiledVersion* JitState::find(const Leaves& leaves, uint64_t hash) const {
  const std::shared_lock lock(mutex_);
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto candidate = begin; candidate != end; ++candidate)
    if (holds(*candidate->second, leaves)) return candidate->second;
  return nullptr;
}

bool JitState::may_skip_guards(const CompiledVersion& version, const Leaves& leaves, SourceLocation at) const {
  if (options_.cache != Cache::same_input) return false;
  if (options_.debug.check_traces)
    throw UserError(text::cat("jit: Cache::same_input, and this call is unlike the first: ",
                              miss_reason(&version, leaves, version.leaf_names), "; use Cache::constant_values"),
                    at);
  return true;
}

void JitState::add(std::shared_ptr<const CompiledVersion> version, uint64_t hash) {
  if (version->symbolic) return add_with_symbols(std::move(version), hash);
  const std::unique_lock lock(mutex_);
  add_times(*version);
  if (options_.cache == Cache::no_caching) {
    versions_.assign(1, std::move(version));
    return;
  }
  by_hash_.emplace(hash, version.get());
  last_.store(version.get(), std::memory_order_release);
  versions_.push_back(std::move(version));
}

void JitState::call(const CallableTable& table, const void* const* arguments, SourceLocation at, CallResult& result) {
  calls_.fetch_add(1, std::memory_order_relaxed);
  auto start = std::chrono::steady_clock::now();
  Leaves leaves(table, false, options_.cache == Cache::symbolic_values);
  table.read(callable_.get(), arguments, leaves);
  leaves.finish();

  EagerRun eager;
  if (options_.debug.verify_against_eager) [[unlikely]] eager = prepare_eager_run(leaves);

  const CompiledVersion* version = last_.load(std::memory_order_acquire);
  std::shared_ptr<const CompiledVersion> made, found;
  const bool has_symbols = uses_symbols(leaves);
  if (has_symbols) [[unlikely]] found = find_with_symbols(leaves);
  if (found) {
    version = found.get();
  } else if (has_symbols || !version || !(holds(*version, leaves) || may_skip_guards(*version, leaves, at))) [[unlikely]] {
    const uint64_t hash = leaves.hash();
    const bool caches = options_.cache != Cache::no_caching;
    version = caches ? find(leaves, hash) : nullptr;
    std::optional<CompileTurns::Turn> turn;
    if (!version && caches) {
      turn.emplace(turns_, has_symbols ? hash_of(leaves.key_without_symbols()) : hash);
      if (has_symbols) found = find_with_symbols(leaves);
      version = found ? found.get() : find(leaves, hash);
    }
    if (!version) {
      misses_.fetch_add(1, std::memory_order_relaxed);
      made = compile_version(table, arguments, leaves, at, turn ? &*turn : nullptr, result);
      version = made.get();
      add(made, hash);
      log_compile(*this, *made);
      start = std::chrono::steady_clock::now();
    } else if (!found) {
      last_.store(version, std::memory_order_release);
    }
  }
  const CompiledVersion* with_symbols = version->symbolic ? version : nullptr;
  if (with_symbols != last_with_symbols_address_.load(std::memory_order_relaxed)) [[unlikely]]
    keep_last_with_symbols(made ? made : found);
  if (!version->in_pieces) [[likely]] run_version(*version, leaves, result);
  else if (!made) call_in_pieces(table, arguments, leaves, at, result);

  const int64_t nanoseconds = (std::chrono::steady_clock::now() - start).count();
  last_nanoseconds_.store(nanoseconds, std::memory_order_relaxed);
  total_nanoseconds_.fetch_add(nanoseconds, std::memory_order_relaxed);
  if (options_.debug.check_nan) [[unlikely]] check_for_nan(result, at);
  if (options_.debug.verify_against_eager) [[unlikely]]
    fulgurite::detail::verify_against_eager(table, callable_.get(), arguments, eager, result, at);
}

std::shared_ptr<const CompiledVersion> JitState::compile_version(const CallableTable& table,
                                                                 const void* const* arguments, const Leaves& leaves,
                                                                 SourceLocation at, CompileTurns::Turn* turn,
                                                                 CallResult& result) {
  const auto start = std::chrono::steady_clock::now();
  auto version = std::make_shared<CompiledVersion>();
  version->when = std::chrono::system_clock::now();
  version->called_at = at;

  std::vector<LeafPath> paths;
  table.paths(callable_.get(), arguments, paths);
  version->leaf_names = leaf_names(paths, leaves, options_.argument_names);
  {
    const std::shared_lock lock(mutex_);
    version->reason =
        options_.cache == Cache::no_caching && !versions_.empty()
            ? "nothing is cached"
            : miss_reason(versions_.empty() ? nullptr : versions_.back().get(), leaves, version->leaf_names);
  }

  CallInPieces runner(*this, leaves, paths, at, turn);
  RecordRequest request{table, callable_.get(), arguments, leaves, paths, version->leaf_names, at, nullptr, options_.memory_budget,
                        &options_.executors};
  if (options_.fullgraph) request.no_breaks = "with fullgraph = true";
  else request.runner = &runner;
  if (uses_symbols(leaves)) {
    request.takes_symbols = true;
    try {
      Recording recording = record_callable(request);
      if (recording.has_symbols) {
        check_writes(recording, leaves, "the jitted function", at);
        if (options_.debug.verify_against_eager) check_writes_only_arguments(recording, paths, at);
        const double tracing = milliseconds_since(start);
        std::shared_ptr<CompiledVersion> made = compile_with_symbols(std::move(recording), leaves, paths, version->leaf_names);
        made->when = version->when;
        made->called_at = at;
        made->reason = std::move(version->reason);
        made->tracing = tracing;
        finish_times(*made, start);
        return made;
      }
      return compile_constant(std::move(version), std::move(recording), runner, leaves, paths, start, at, result);
    } catch (const std::exception& error) {
      // What cannot be recorded with symbols is recorded with constants, and what is wrong in that too is said of it.
      if (!runner.breaks().empty() || !is_ours(error)) throw;
      version->reason += text::cat("; with constant sizes and numbers, because with symbols: ", first_line(error.what()));
      request.takes_symbols = false;
    }
  }
  Recording recording = record_callable(request);
  return compile_constant(std::move(version), std::move(recording), runner, leaves, paths, start, at, result);
}

std::shared_ptr<const CompiledVersion> JitState::compile_constant(std::shared_ptr<CompiledVersion> version, Recording recording,
                                                                  const CallInPieces& runner, const Leaves& leaves,
                                                                  const std::vector<LeafPath>& paths,
                                                                  std::chrono::steady_clock::time_point start, SourceLocation at,
                                                                  CallResult& result) {
  version->key = leaves.key();
  if (recording.in_pieces) {
    version->in_pieces = true;
    version->breaks = runner.breaks();
    result.rest = std::move(recording.rest);
    result.tensors.assign(recording.results.begin(), recording.results.end());
    keep_last(runner.pieces());
    version->stages.forward_traces.emplace_back();
    version->prologue = make_prologue(*version, paths, leaves);
    version->stages.forward_traces.clear();
    return version;
  }
  check_writes(recording, leaves, "the jitted function", at);
  if (options_.debug.verify_against_eager) check_writes_only_arguments(recording, paths, at);
  version->tracing = milliseconds_since(start);

  compile_recording(*version, recording, grad_enabled() && recording.requires_grad);
  version->result_slots = std::move(recording.result_slots);
  version->rest = std::move(recording.rest);
  version->prologue = make_prologue(*version, paths, leaves);
  finish_times(*version, start);
  return version;
}

PipelineOptions JitState::pipeline_options() const {
  PipelineOptions pipeline;
  pipeline.executors = options_.executors;
  pipeline.skip_transforms = options_.skip_transforms;
  pipeline.transforms = transforms_;
  pipeline.associate_forward = options_.debug.associate_forward;
  pipeline.check_traces = options_.debug.check_traces;
  pipeline.recomputation.memory_budget = options_.memory_budget;
  return pipeline;
}

void JitState::compile_recording(CompiledVersion& version, const Recording& recording, bool differentiate) const {
  context().unique_graphs.fetch_add(1, std::memory_order_relaxed);
  version.stages = compile(recording.trace, differentiate, pipeline_options());
  version.forward = version.stages.forward;
  version.backward = version.stages.backward;
  connect(version, recording, differentiate);
}

// What the program takes and gives, in terms of the recorded call.
void JitState::connect(CompiledVersion& version, const Recording& recording, bool differentiate) {
  std::vector<int> positions(recording.inputs.size(), -1);  // of the recorded inputs among the program's
  for (const Value& input : input_values(version.forward->trace())) {
    const auto found = std::find_if(recording.inputs.begin(), recording.inputs.end(),
                                    [&](const RecordedInput& r) { return r.id == proxy_id(input); });
    if (found == recording.inputs.end()) throw InternalError("the compiled trace has an input that was not recorded");
    positions[static_cast<size_t>(found - recording.inputs.begin())] = static_cast<int>(version.inputs.size());
    version.inputs.push_back(*found);
    if (found->leaf != RecordedInput::captured) continue;
    version.captures.push_back(found->tensor);
    version.capture_names.push_back(input.tensor().name);
  }
  for (const auto& [input, result] : recording.written) version.written.emplace_back(positions[input], result);
  if (differentiate) {
    const BoundSymbol& last = version.forward->trace().bound_symbols.back();
    for (const Value& output : keyword(last, "flat_output").list())
      version.carries_gradient.push_back(output.is_tensor() && output.tensor().requires_grad);
  }
  version.result_count = recording.result_count;
  append_captures_key(version.captures, version.capture_key);
}

void JitState::finish_times(CompiledVersion& version, std::chrono::steady_clock::time_point start) {
  for (const std::vector<Trace>* stages : {&version.stages.forward_traces, &version.stages.backward_traces})
    for (const Trace& stage : *stages) version.transforms += stage.milliseconds;
  version.total = milliseconds_since(start);
  version.planning = std::max(0.0, version.total - version.tracing - version.transforms);
}

void JitState::add_times(const CompiledVersion& version) {
  compiles_.tracing += version.tracing;
  compiles_.transforms += version.transforms;
  compiles_.planning += version.planning;
  compiles_.total += version.total;
}

void JitState::keep_last(const Pieces& pieces) {
  const std::unique_lock lock(mutex_);
  last_pieces_ = pieces;
}

Pieces JitState::last_pieces() const {
  const std::shared_lock lock(mutex_);
  return last_pieces_;
}

std::shared_ptr<const CompiledVersion> JitState::last() const {
  const std::shared_lock lock(mutex_);
  if (last_with_symbols_) return last_with_symbols_;
  const CompiledVersion* last = last_.load(std::memory_order_acquire);
  for (const auto& version : versions_)
    if (!last || version.get() == last) return version;
  return nullptr;
}

std::vector<std::shared_ptr<const CompiledVersion>> JitState::versions() const {
  const std::shared_lock lock(mutex_);
  return versions_;
}

CompileStats JitState::stats() const {
  CompileStats stats;
  {
    const std::shared_lock lock(mutex_);
    stats = compiles_;
  }
  stats.calls = calls_.load(std::memory_order_relaxed);
  stats.misses = misses_.load(std::memory_order_relaxed);
  stats.hits = stats.calls - stats.misses;
  stats.last_call = static_cast<double>(last_nanoseconds_.load(std::memory_order_relaxed)) / 1e3;
  stats.mean_call = stats.calls == 0 ? 0.0
                                     : static_cast<double>(total_nanoseconds_.load(std::memory_order_relaxed)) / 1e3 /
                                           static_cast<double>(stats.calls);
  return stats;
}

}  // namespace fulgurite::detail
