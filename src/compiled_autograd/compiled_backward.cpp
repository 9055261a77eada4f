// Captured backwards: found by their keys, run, and told about.
#include <fulgurite/compiled_autograd.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <unordered_map>

#include <fulgurite/error.h>

#include "autograd/backward_run.h"
#include "autograd/modes.h"
#include "compiled_autograd/backward_key.h"
#include "compiled_autograd/capture.h"
#include "ops/dispatch.h"
#include "pipeline/pipeline.h"
#include "support/context.h"
#include "support/log.h"

namespace fulgurite {

namespace {

struct CompiledBackward {
  BackwardKey key;
  std::vector<std::string> node_names;  // by call
  CapturedBackward captured;
  std::vector<Trace> traces;
  std::shared_ptr<Program> program;
};

/// All that was captured. Thread-safe.
class Captures {
 public:
  static Captures& all() {
    static auto* const captures = new Captures;  // never destroyed: static destructors may still run backwards
    return *captures;
  }

  std::shared_ptr<const CompiledBackward> find(const BackwardKey& key) {
    const std::lock_guard lock(mutex_);
    const auto [begin, end] = by_hash_.equal_range(key.hash);
    for (auto at = begin; at != end; ++at)
      if (at->second->key == key) return last_ = at->second;
    return nullptr;
  }
  void add(const std::shared_ptr<const CompiledBackward>& compiled) {
    const std::lock_guard lock(mutex_);
    by_hash_.emplace(compiled->key.hash, compiled);
    last_ = compiled;
    ++count_;
  }
  /// The first node of a graph that no capture with the same nodes before it has, in words.
  std::string miss(const BackwardKey& key, const std::vector<std::string>& node_names) {
    const std::lock_guard lock(mutex_);
    std::vector<const CompiledBackward*> alike;
    for (const auto& [hash, compiled] : by_hash_) alike.push_back(compiled.get());
    for (size_t part = 0; part < key.parts(); ++part) {
      std::vector<const CompiledBackward*> still;
      std::copy_if(alike.begin(), alike.end(), std::back_inserter(still), [&](const CompiledBackward* c) { return key.same_part(c->key, part); });
      if (still.empty()) return miss_at(part, key, node_names, alike);
      alike = std::move(still);
    }
    return "Cache miss: a longer backward begins in the same way";
  }
  int64_t count() {
    const std::lock_guard lock(mutex_);
    return count_;
  }
  std::vector<Trace> last_traces() {
    const std::lock_guard lock(mutex_);
    return last_ ? last_->traces : std::vector<Trace>();
  }
  void reset() {
    const std::lock_guard lock(mutex_);
    by_hash_.clear();
    last_.reset();
    count_ = 0;
  }

 private:
  static std::string name_of_part(size_t part, const std::vector<std::string>& node_names) {
    return part == 0 ? std::string("GraphRoot") : part <= node_names.size() ? node_names[part - 1] : std::string();
  }
  static std::string miss_at(size_t part, const BackwardKey& key, const std::vector<std::string>& node_names,
                             const std::vector<const CompiledBackward*>& alike) {
    const std::string name = name_of_part(part, node_names);
    std::vector<size_t> sizes;
    for (const CompiledBackward* other : alike)
      if (part < other->key.parts() && name_of_part(part, other->node_names) == name) sizes.push_back(other->key.bytes_of(part));
    return text::cat("Cache miss due to new autograd node: ", name, " (NodeCall ", part, ") with key size ", key.bytes_of(part), ", previous key sizes=[",
                     text::join(sizes, [](size_t size) { return std::to_string(size); }), "]");
  }

  std::mutex mutex_;
  std::unordered_multimap<uint64_t, std::shared_ptr<const CompiledBackward>> by_hash_;
  std::shared_ptr<const CompiledBackward> last_;
  int64_t count_ = 0;
};

std::vector<std::string> names_of(const BackwardGraph& graph) {
  std::vector<std::string> names;
  for (const NodeCall& one : graph.calls) names.push_back(one.node->name());
  return names;
}

class Interceptor final : public BackwardInterceptor {
 public:
  explicit Interceptor(compiled_autograd::Options options) : options_(std::move(options)) {}

  std::optional<std::vector<Tensor>> run(BackwardCall& call) override {
    BackwardGraph graph(call);
    if (const std::string why = why_not_captured(call, graph); !why.empty()) {
      if (options_.fullgraph) throw UserError(text::cat("compiled autograd: the backward cannot be captured whole (fullgraph): ", why));
      if (logs(LogChannel::compiled_autograd)) log(LogChannel::compiled_autograd, "Not captured, run by the engine: " + why);
      return std::nullopt;
    }
    const InterpreterScope eager(nullptr);
    const GradModeScope no_grad(false);
    const ModesScope modes;
    autograd_modes().interceptor = nullptr;
    BackwardRun run({});  // whom checkpoints and hooks tell what is to be done at its end
    const std::optional<std::vector<Tensor>> inputs = inputs_of(call, graph);
    if (!inputs) return std::nullopt;
    BackwardKey key = backward_key(call, graph, *inputs, options_.executors);
    std::shared_ptr<const CompiledBackward> compiled = Captures::all().find(key);
    if (!compiled) compiled = make(call, graph, *inputs, std::move(key));
    std::vector<Tensor> asked = run_compiled(*compiled, call, graph, *inputs);
    run.run_callbacks();
    return asked;
  }

 private:
  std::shared_ptr<const CompiledBackward> make(const BackwardCall& call, const BackwardGraph& graph, const std::vector<Tensor>& inputs, BackwardKey key) {
    auto compiled = std::make_shared<CompiledBackward>();
    compiled->node_names = names_of(graph);
    if (logs(LogChannel::compiled_autograd_verbose))
      log(LogChannel::compiled_autograd_verbose, Captures::all().miss(key, compiled->node_names));
    compiled->key = std::move(key);
    compiled->captured = capture(call, graph, inputs);
    if (logs(LogChannel::compiled_autograd_verbose) || logs(LogChannel::compiled_autograd)) {
      const bool is_verbose = logs(LogChannel::compiled_autograd_verbose);
      const std::string text = print(compiled->captured.trace, {.time = false, .source = true, .strides = is_verbose});
      log(is_verbose ? LogChannel::compiled_autograd_verbose : LogChannel::compiled_autograd,
          text::cat("TRACED GRAPH\n===== Compiled autograd graph =====\n", text));
    }
    PipelineOptions options;
    options.executors = options_.executors;
    options.fuses_everything = !options_.executors.empty();
    CompiledFunction function = compile(compiled->captured.trace, false, options);
    compiled->traces = std::move(function.forward_traces);
    compiled->program = std::move(function.forward);
    context().unique_graphs.fetch_add(1, std::memory_order_relaxed);
    Captures::all().add(compiled);
    return compiled;
  }

  // Where something was freed or written the engine stops with an error, after the hooks that come before.
  static std::optional<std::vector<Tensor>> inputs_of(const BackwardCall& call, BackwardGraph& graph) {
    try {
      return gather_inputs(call, graph);
    } catch (const UserError&) {
      return std::nullopt;
    }
  }

  static std::vector<Tensor> run_compiled(const CompiledBackward& compiled, const BackwardCall& call, const BackwardGraph& graph,
                                          const std::vector<Tensor>& inputs) {
    std::vector<Tensor> arguments;
    for (const CapturedBackward::Argument& argument : compiled.captured.arguments)
      arguments.push_back(argument.is_leaf ? *graph.calls[argument.place].node->accumulates_into() : inputs[argument.place]);
    CompiledRun effects(graph, compiled.captured.effects);
    autograd_modes().compiled_run = &effects;
    std::vector<Tensor> results;
    compiled.program->run(arguments, results);
    std::vector<Tensor> asked(call.inputs.size());
    for (size_t i = 0; i < results.size(); ++i)
      if (const auto& [input, sources] = compiled.captured.asked[i]; effects.is_there(sources)) asked[input] = std::move(results[i]);
    if (!call.keep_graph)
      for (const NodeCall& one : graph.calls)
        if (one.is_needed) one.node->release_saved();
    return asked;
  }

  compiled_autograd::Options options_;
};

}  // namespace

namespace compiled_autograd {

struct Scope::State {
  explicit State(Options options) : interceptor(std::move(options)), outer(autograd_modes().interceptor) {
    autograd_modes().interceptor = &interceptor;
  }
  ~State() { autograd_modes().interceptor = outer; }
  Interceptor interceptor;
  BackwardInterceptor* outer;
};

Scope::Scope(Options options) : state_(std::make_unique<State>(std::move(options))) {}
Scope::~Scope() = default;

Scope enable(Options options) { return Scope(std::move(options)); }

void set_enabled(bool enabled) {
  static auto* const interceptor = new Interceptor({});  // never destroyed: any thread may be in it
  context().interceptor.store(enabled ? interceptor : nullptr, std::memory_order_release);
}

std::shared_ptr<void> detail::open_scope(bool fullgraph, const std::vector<std::string>& executors) {
  return std::make_shared<Scope>(Options{.fullgraph = fullgraph, .executors = executors});
}

int64_t captures() { return Captures::all().count(); }
std::vector<Trace> last_traces() { return Captures::all().last_traces(); }
void reset() { Captures::all().reset(); }

}  // namespace compiled_autograd

}  // namespace fulgurite
