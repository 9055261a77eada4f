#include "jit/jit_state.h"

#include <algorithm>

#include <fulgurite/error.h>

#include "ir/analysis/trace_values.h"
#include "jit/arguments/leaf_names.h"
#include "jit/diagnostics/composite_error.h"
#include "jit/diagnostics/line_checks.h"
#include "jit/graph_breaks/graph_breaks.h"
#include "ops/core/autocast.h"
#include "ops/core/dispatch.h"
#include "ir/structural.h"
#include "support/base/standard_library.h"
#include "support/log.h"
#include "support/text/text.h"

namespace fulgurite::detail {

namespace {

void append_captures_key(const std::vector<Tensor>& captures, SmallVector<uint64_t, 64>& key) {
  for (const Tensor& tensor : captures) append_tensor_key(*tensor.impl(), key);
}

// verify_against_eager runs the function a second time: the tensors that it writes must have been copied before.
void check_writes_only_arguments(const Recording& recording, const std::vector<LeafPath>& paths, SourceLocation at) {
  int argument_tensors = 0;
  for (const LeafPath& path : paths) argument_tensors += path.is_tensor && path.argument != LeafPath::callable_member;
  for (const BoundSymbol& bound : recording.trace.bound_symbols) {
    if (!is_write(bound)) continue;
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

JitState::JitState(std::shared_ptr<void> callable, JitOptions options, bool names_executors,
                   std::vector<Transform> transforms, OpenScope open_scope, SourceLocation made_at,
                   std::shared_ptr<const ExecutionObserver> watch, std::shared_ptr<const PassList> passes)
    : callable_(std::move(callable)),
      options_(std::move(options)),
      names_executors_(names_executors),
      transforms_(std::move(transforms)),
      passes_(std::move(passes)),
      open_scope_(open_scope),
      made_at_(made_at),
      watch_(std::move(watch)),
      execution_observer_(make_execution_observer(options_.debug, watch_)),
      store_(options_.limits, options_.cache != Cache::no_caching),
      recompiles_(options_.limits, made_at) {}

JitState::~JitState() = default;

bool JitState::may_skip_guards(const CacheEntry& entry, const FlatArguments& flat, SourceLocation at) const {
  if (options_.cache != Cache::same_input) return false;
  if (options_.debug.check_traces)
    throw UserError(text::cat("jit: Cache::same_input, and this call is unlike the first: ",
                              text_of(changes_since(entry, flat, entry.leaf_names)), "; use Cache::constant_values"),
                    at);
  return true;
}

FlatArguments JitState::flatten_arguments(const CallableTable& table, const void* const* arguments) const {
  FlatArguments flat(table, false, options_.cache == Cache::symbolic_values, promoted_.load(std::memory_order_acquire));
  table.read(callable_.get(), arguments, flat);
  flat.finish();
  return flat;
}

// Sizes of the callable's own tensors are constants until they change: those that differ from the newest version's,
// where nothing else does.
bool JitState::promote_sizes(const FlatArguments& flat) {
  const std::shared_ptr<const CacheEntry> newest = store_.newest();
  if (!newest || newest->has_graph_breaks || newest->key.size() != flat.key().size()) return false;
  SmallVector<uint64_t, 64> key = flat.key_without_symbols();
  for (const uint32_t at : flat.symbols()) key[at] = newest->key[at];
  std::vector<PromotedSize> found;
  for (size_t leaf = 0; leaf < flat.tensors().size(); ++leaf) {
    const size_t header = flat.header(leaf);
    const Tensor& tensor = *flat.tensors()[leaf];
    if (!tensor.defined() || key[header] != newest->key[header]) continue;
    const bool shares_memory = key[header] >> 32 != 0;  // its sizes stay constants
    for (size_t d = 0; d < tensor.impl()->sizes.size() && !shares_memory; ++d) {
      uint64_t& size = key[header + 1 + d];
      if (size == newest->key[header + 1 + d]) continue;
      size = newest->key[header + 1 + d];
      found.push_back({static_cast<uint32_t>(leaf), static_cast<uint32_t>(d)});
    }
  }
  if (found.empty() || !same_words(key, newest->key)) return false;
  const std::lock_guard lock(mutex_);
  if (!promotions_.empty()) {
    const std::vector<PromotedSize>& known = *promotions_.back();
    std::erase_if(found, [&](const PromotedSize& size) { return std::ranges::find(known, size) != known.end(); });
    if (found.empty()) return &known != flat.promoted();
    found.insert(found.end(), known.begin(), known.end());
  }
  promotions_.push_back(std::make_unique<const std::vector<PromotedSize>>(std::move(found)));
  promoted_.store(promotions_.back().get(), std::memory_order_release);
  return true;
}

// The source line of a call through a std::function is in the standard library; that of jit() is at least the user's.
SourceLocation JitState::user_line(SourceLocation at) const {
  if (at.file == made_at_.file || at.file == last_file_.load(std::memory_order_relaxed)) return at;
  if (is_of_standard_library(at)) return made_at_;
  last_file_.store(at.file, std::memory_order_relaxed);
  return at;
}

void JitState::run_named(const CacheEntry& entry, const FlatArguments& flat, CallResult& result) const {
  try {
    run_entry(entry, flat, result);
  } catch (const CallError& error) {
    rethrow_for_composite(store_.stages(entry)->forward, error);
  }
}

void JitState::call(const CallableTable& table, const void* const* arguments, SourceLocation called_at,
                    CallResult& result) {
  const SourceLocation at = user_line(called_at);
  const EpochCounter::Visit visit(store_.epochs());
  auto start = std::chrono::steady_clock::now();
  std::shared_ptr<void> captures_backwards;
  if (open_scope_ != nullptr) [[unlikely]]
    captures_backwards =
        open_scope_(options_.fullgraph, names_executors_ ? options_.executors : std::vector<std::string>(),
                    options_.allow_excess_precision);
  FlatArguments flat = flatten_arguments(table, arguments);

  EagerRun eager;
  if (options_.debug.verify_against_eager) [[unlikely]]
    eager = prepare_eager_run(flat);

  const CacheEntry* entry = store_.last_address();
  std::shared_ptr<const CacheEntry> made, found;
  bool has_symbols = uses_symbols(flat);
  if (has_symbols && options_.cache != Cache::no_caching) [[unlikely]]
    found = store_.find_specialization(flat, flat.hash());
  if (found) {
    entry = found.get();
  } else if (has_symbols || !entry || !(holds(*entry, flat) || may_skip_guards(*entry, flat, at))) [[unlikely]] {
    const uint64_t hash = flat.hash();
    const bool caches = options_.cache != Cache::no_caching;
    entry = caches ? store_.find(flat, hash) : nullptr;
    if (!entry && options_.cache == Cache::symbolic_values && promote_sizes(flat)) {
      flat = flatten_arguments(table, arguments);
      has_symbols = uses_symbols(flat);
    }
    if (!entry && caches && has_symbols) {
      constexpr uint64_t for_values = 0x9e3779b97f4a7c15u;  // other than the turn of a compile
      const SingleFlight::Flight flight(flights_, hash ^ for_values);
      found = find_with_symbols(flat);
      entry = found.get();
    }
    std::optional<SingleFlight::Flight> flight;
    if (!entry && caches) {
      flight.emplace(flights_, has_symbols ? hash_of(flat.key_without_symbols()) : hash);
      if (has_symbols) found = find_with_symbols(flat);
      entry = found ? found.get() : store_.find(flat, hash);
    }
    if (!entry) {
      misses_.fetch_add(1, std::memory_order_relaxed);
      made = compile_entry(table, arguments, flat, at, flight ? &*flight : nullptr, result);
      entry = made.get();
      add_times(*made);
      log_compile(*this, *made);
      store_.add(made, hash);
      start = std::chrono::steady_clock::now();
    }
  }
  if (!store_.is_last_with_symbols(entry->symbolic ? entry : nullptr)) [[unlikely]]
    store_.retain_last_with_symbols(made ? made : found);
  if (!entry->has_graph_breaks) [[likely]]
    run_named(*entry, flat, result);
  else if (!made) call_with_breaks(table, arguments, flat, at, result);
  // The result's numbers belong to the entry, which other threads may evict before they are read.
  if (entry->symbolic) [[unlikely]]
    result.rest = {made ? std::move(made) : std::move(found), result.rest.get()};

  const int64_t nanoseconds = (std::chrono::steady_clock::now() - start).count();
  last_nanoseconds_.store(nanoseconds, std::memory_order_relaxed);
  total_nanoseconds_.fetch_add(nanoseconds, std::memory_order_relaxed);
  if (options_.debug.check_nan) [[unlikely]]
    check_for_nan(result, at);
  if (options_.debug.verify_against_eager) [[unlikely]] {
    const AutocastScope autocast(options_.autocast ? options_.autocast : autocast_dtype());
    std::vector<Trace> recorded;
    if (entry->has_graph_breaks)
      for (const auto& subgraph : last_subgraphs()) recorded.push_back(store_.stages(*subgraph)->forward.front());
    else recorded.push_back(store_.stages(*entry)->forward.front());
    fulgurite::detail::verify_against_eager(table, callable_.get(), arguments, eager, result, recorded, at);
  }
}

// In which ways this call is unlike the newest compile; where that one has symbols, which of its guards does not hold.
std::vector<Change> JitState::changes(const FlatArguments& flat, const std::vector<std::string>& names) const {
  const std::shared_ptr<const CacheEntry> newest = store_.newest();
  if (!newest || options_.cache == Cache::no_caching) return {};
  if (newest->symbolic && uses_symbols(flat) && same_words(newest->symbolic->key, flat.key_without_symbols())) {
    const std::vector<uint64_t> given = flat.symbol_values();
    SymbolValues values(given);
    if (const NumberProxy* guard = failed_guard(newest->symbolic->guards, values))
      return {
          {"answers about sizes and numbers", text::cat(guard_text(*guard), " no longer holds"), Change::Kind::guard}};
  }
  return changes_since(*newest, flat, names);
}

// Why the version is compiled; says so where that happens often.
void JitState::note_compile(CacheEntry& entry, const FlatArguments& flat) {
  const std::vector<Change> found = changes(flat, entry.leaf_names);
  if (options_.cache == Cache::no_caching) {
    entry.reason = store_.newest() ? "nothing is cached" : "first call";
    return;
  }
  entry.reason = store_.newest() ? text_of(found) : "first call";
  if (const auto warning = recompiles_.count(found, entry.called_at)) warn(*warning);
}

std::shared_ptr<const CacheEntry> JitState::compile_entry(const CallableTable& table, const void* const* arguments,
                                                          const FlatArguments& flat, SourceLocation at,
                                                          SingleFlight::Flight* flight, CallResult& result) {
  const auto start = std::chrono::steady_clock::now();
  auto entry = std::make_shared<CacheEntry>();
  entry->when = std::chrono::system_clock::now();
  entry->called_at = at;

  std::vector<LeafPath> paths;
  table.paths(callable_.get(), arguments, paths);
  entry->leaf_names = leaf_names(paths, flat, options_.argument_names);
  note_compile(*entry, flat);

  CallWithBreaks runner(*this, flat, paths, at, flight);
  RecordRequest request{table,   callable_.get(),        arguments,          flat, paths, entry->leaf_names, at,
                        nullptr, options_.memory_budget, &options_.executors};
  request.autocast = options_.autocast;
  request.plans_results = true;
  if (options_.fullgraph) request.no_breaks = "with fullgraph = true";
  if (!options_.fullgraph || options_.compiled_autograd) request.runner = &runner;
  if (uses_symbols(flat)) {
    request.takes_symbols = true;
    try {
      Recording recording = record_callable(request);
      if (recording.has_symbols) {
        check_writes(recording, flat, "the jitted function", at);
        if (options_.debug.verify_against_eager) check_writes_only_arguments(recording, paths, at);
        const double tracing = milliseconds_since(start);
        std::shared_ptr<CacheEntry> made = compile_with_symbols(std::move(recording), flat, paths, entry->leaf_names);
        made->when = entry->when;
        made->called_at = at;
        made->reason = std::move(entry->reason);
        made->tracing = tracing;
        finish_times(*made, start);
        return made;
      }
      return compile_constant(std::move(entry), std::move(recording), runner, flat, paths, start, at, result);
    } catch (const std::exception& error) {
      // A function that cannot be recorded with symbols is recorded with constants, and errors are those of that
      // recording.
      if (!runner.breaks().empty() || !is_ours(error)) throw;
      entry->reason += text::cat("; with constant sizes and numbers, because with symbols: ", first_line(error.what()));
      request.takes_symbols = false;
    }
  }
  Recording recording = record_callable(request);
  return compile_constant(std::move(entry), std::move(recording), runner, flat, paths, start, at, result);
}

std::shared_ptr<const CacheEntry> JitState::compile_constant(std::shared_ptr<CacheEntry> entry, Recording recording,
                                                             const CallWithBreaks& runner, const FlatArguments& flat,
                                                             const std::vector<LeafPath>& paths,
                                                             std::chrono::steady_clock::time_point start,
                                                             SourceLocation at, CallResult& result) {
  entry->key = flat.key();
  if (recording.has_graph_breaks) {
    entry->has_graph_breaks = true;
    entry->breaks = runner.breaks();
    result.rest = std::move(recording.rest);
    result.tensors.assign(recording.results.begin(), recording.results.end());
    keep_last(runner.subgraphs());
    auto stages = std::make_shared<Stages>();
    stages->prologue = make_prologue(*entry, Trace(), paths, flat);
    entry->stages = std::move(stages);
    return entry;
  }
  check_writes(recording, flat, "the jitted function", at);
  if (options_.debug.verify_against_eager) check_writes_only_arguments(recording, paths, at);
  entry->tracing = milliseconds_since(start);

  compile_recording(*entry, recording, grad_enabled() && recording.requires_grad);
  entry->result_slots = std::move(recording.result_slots);
  SymbolValues no_numbers;
  entry->shared = ready(recording.shared, no_numbers);
  entry->rest = std::move(recording.rest);
  auto stages = std::make_shared<Stages>(*entry->stages);
  stages->prologue = make_prologue(*entry, stages->forward.front(), paths, flat);
  entry->stages = std::move(stages);
  finish_times(*entry, start);
  return entry;
}

PipelineOptions JitState::pipeline_options(const Recording& recording) const {
  PipelineOptions pipeline = pipeline_options();
  if (recording.kept) pipeline.kept_results = &*recording.kept;
  return pipeline;
}

PipelineOptions JitState::pipeline_options() const {
  PipelineOptions pipeline;
  pipeline.executors = options_.executors;
  pipeline.fuses_all = names_executors_;
  pipeline.allow_excess_precision = options_.allow_excess_precision;
  pipeline.skip_transforms = options_.skip_transforms;
  pipeline.transforms = transforms_;
  pipeline.associate_forward = options_.debug.associate_forward;
  pipeline.check_traces = options_.debug.check_traces;
  pipeline.recomputation.memory_budget = options_.memory_budget;
  pipeline.fusion_names = fusion_names_;
  pipeline.watch = execution_observer_;
  pipeline.passes = passes_;
  return pipeline;
}

void JitState::compile_recording(CacheEntry& entry, const Recording& recording, bool differentiate) const {
  context().unique_graphs.fetch_add(1, std::memory_order_relaxed);
  CompiledFunction compiled = compile(recording.trace, differentiate, pipeline_options(recording));
  entry.forward = std::move(compiled.forward);
  entry.backward = std::move(compiled.backward);
  entry.stages =
      std::make_shared<Stages>(Stages{std::move(compiled.forward_traces), std::move(compiled.backward_traces), {}});
  connect(entry, recording, differentiate);
}

// Maps the program's inputs and results to those of the recorded call.
void JitState::connect(CacheEntry& entry, const Recording& recording, bool differentiate) {
  std::vector<int> positions(recording.inputs.size(), -1);  // of the recorded inputs among the program's
  for (const Value& input : input_values(entry.forward->trace())) {
    const auto found = std::find_if(recording.inputs.begin(), recording.inputs.end(),
                                    [&](const RecordedInput& r) { return r.id == proxy_id(input); });
    if (found == recording.inputs.end()) throw InternalError("the compiled trace has an input that was not recorded");
    positions[static_cast<size_t>(found - recording.inputs.begin())] = static_cast<int>(entry.inputs.size());
    entry.inputs.push_back(*found);
    if (found->leaf != RecordedInput::captured) continue;
    entry.captures.push_back(found->tensor);
    entry.sharing.push_back(found->shares_with);
    entry.capture_names.push_back(input.tensor().name);
  }
  for (const auto& [input, result] : recording.written) entry.written.emplace_back(positions[input], result);
  if (differentiate) {
    const BoundSymbol& last = entry.forward->trace().bound_symbols.back();
    for (const Value& output : keyword(last, "flat_output").list())
      entry.carries_gradient.push_back(output.is_tensor() && output.tensor().requires_grad);
  }
  entry.result_count = recording.result_count;
  append_captures_key(entry.captures, entry.capture_key);
  for (const auto& [input, strides] : recording.observed_strides) {
    std::string name;
    for (const Value& arg : recording.trace.args)
      if (arg.proxy_id() == input.id) name = arg.tensor().name;
    entry.stride_guards.push_back({input.leaf, input.tensor, std::move(name), strides});
  }
  entry.reached = recording.reached;
  for (const BoundSymbol& bound : recording.trace.bound_symbols) {
    if (!is_write(bound)) continue;
    entry.writes = true;
    for (size_t i = 0; i < recording.inputs.size(); ++i)
      if (recording.inputs[i].id == bound.args[1].proxy_id()) entry.overwritten.push_back(positions[i]);
  }
}

}  // namespace fulgurite::detail
