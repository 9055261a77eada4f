// Runs backwards in the scope of compiled autograd: looked up by key, or captured.
#include <fulgurite/compiled_autograd.h>

#include <mutex>
#include <optional>

#include <fulgurite/error.h>

#include "autograd/engine/backward_run.h"
#include "autograd/engine/modes.h"
#include "compiled_autograd/captures.h"
#include "compiled_autograd/compile_backward.h"
#include "compiled_autograd/run/run_lines.h"
#include "ops/core/dispatch.h"
#include "support/context.h"
#include "support/log.h"
#include "support/text/base_name.h"

namespace fulgurite {

namespace {

// "model.cpp:12"
std::string line_of(const Node& node) {
  const SourceLocation at = node.source();
  if (at.line <= 0) return {};
  const std::string_view file = text::base_name(at.file);
  return text::cat(file, ":", at.line);
}

class Interceptor final : public BackwardInterceptor {
 public:
  explicit Interceptor(compiled_autograd::Options options) : options_(std::move(options)) {}

  std::optional<std::vector<Tensor>> run(BackwardCall& call) override {
    BackwardGraph graph(call);
    if (const std::string why = why_not_captured(graph); !why.empty()) {
      if (options_.fullgraph)
        throw UserError(text::cat("compiled autograd: the backward cannot be captured whole (fullgraph): ", why));
      if (logs(LogChannel::compiled_autograd))
        log(LogChannel::compiled_autograd, "Not captured, run by the engine: " + why);
      return std::nullopt;
    }
    const InterpreterScope eager(nullptr);
    const GradModeScope no_grad(false);
    const ModesScope modes;
    autograd_modes().interceptor = nullptr;
    BackwardRun run({});  // checkpoints and hooks register their end actions with it
    const std::optional<std::vector<Tensor>> inputs = inputs_of(call, graph);
    if (!inputs) return std::nullopt;
    BackwardKey key = backward_key(call, graph, *inputs, options_);
    std::shared_ptr<const BackwardProgram> compiled = Captures::all().find(key);
    if (!compiled) [[unlikely]]
      compiled = make({call, graph, *inputs, options_}, std::move(key));
    if (!compiled) return std::nullopt;
    CompiledRun effects(call, graph, *inputs, compiled->effects);
    try {
      std::vector<Tensor> asked = run_compiled(*compiled, call, graph, *inputs, effects);
      run.run_callbacks();
      return asked;
    } catch (const LeftCapture& left) {
      leave(left);
      FinishedTurns finished = std::move(effects).finished_turns();
      finished.callbacks = run.take_callbacks();
      call.finished = std::make_shared<const FinishedTurns>(std::move(finished));
      return std::nullopt;
    }
  }

 private:
  // The engine runs what is left.
  void leave(const LeftCapture& left) const {
    if (options_.fullgraph)
      throw UserError(text::cat("compiled autograd: ", left.reason,
                                "; change hooks before backward(), or permit the engine (without fullgraph)"),
                      left.source);
    if (logs(LogChannel::compiled_autograd)) log(LogChannel::compiled_autograd, "Left to the engine: " + left.reason);
  }

  static std::shared_ptr<const BackwardProgram> make(const BackwardRequest& request, BackwardKey key) {
    const std::lock_guard lock(Captures::all().making());
    if (auto known = Captures::all().find(key)) return known;
    bool is_new = false;
    const BackwardStructure shape = backward_structure(request.call, request.graph, request.inputs, request.options);
    StructureOfBackward& structure = Captures::all().structure(shape, is_new);
    if (is_new)
      for (const NodeCall& one : request.graph.calls) {
        structure.node_names.push_back(one.node->name());
        structure.node_ops.push_back(line_of(*one.node));
      }
    if (structure.failure.empty()) {
      try {
        return compile_backward(request, structure, shape.sizes, std::move(key));
      } catch (const std::exception& error) {
        structure.failure = text::cat("compiled autograd: a backward of ", request.graph.calls.size(), " nodes, ",
                                      structure.node_names.front(), " first, could not be compiled: ", error.what());
        if (!request.options.fullgraph) warn(structure.failure + "; the eager engine runs it, now and from now on");
      }
    }
    if (request.options.fullgraph) throw UserError(structure.failure);
    return nullptr;
  }

  // If a tensor was freed or written, the engine stops with an error, after the hooks that come before.
  static std::optional<std::vector<Tensor>> inputs_of(const BackwardCall& call, BackwardGraph& graph) {
    try {
      return gather_inputs(call, graph);
    } catch (const UserError&) {
      return std::nullopt;
    }
  }

  static std::vector<Tensor> run_compiled(const BackwardProgram& compiled, const BackwardCall& call,
                                          const BackwardGraph& graph, const std::vector<Tensor>& inputs,
                                          CompiledRun& effects) {
    const CapturedBackward& captured = compiled.capture->captured;
    std::vector<Tensor> arguments;
    arguments.reserve(captured.arguments.size());
    for (const CapturedBackward::Argument& argument : captured.arguments)
      arguments.push_back(argument.captured.defined() ? argument.captured
                          : argument.is_leaf          ? *graph.calls[argument.position].leaf
                                                      : inputs[argument.position]);
    autograd_modes().compiled_run = &effects;
    std::vector<Tensor> results;
    try {
      results = run_on(compiled, call, graph, arguments, effects);
      effects.finish();
    } catch (const LeftCapture&) {
      throw;
    } catch (...) {
      // As in the engine: the nodes before the failing one have run.
      release(call, graph, effects.turn());
      throw;
    }
    std::vector<Tensor> asked(call.inputs.size());
    for (size_t i = 0; i < results.size(); ++i)
      if (const auto& [input, sources] = captured.asked[i]; effects.is_there(sources))
        asked[input] = std::move(results[i]);
    release(call, graph, static_cast<int>(graph.calls.size()));
    return asked;
  }

  static std::vector<Tensor> run_on(const BackwardProgram& compiled, const BackwardCall& call,
                                    const BackwardGraph& graph, const std::vector<Tensor>& arguments,
                                    CompiledRun& effects) {
    const CapturedBackward& captured = compiled.capture->captured;
    const bool observes_ops = autograd_modes().checks_nan || autograd_modes().detects_anomaly;
    if (!compiled.program) return run_lines(compiled.ops, captured, call, graph, arguments, effects);
    if (observes_ops)
      return run_lines(lines_of(*compiled.capture, compiled.sizes), captured, call, graph, arguments, effects);
    std::vector<Tensor> results;
    compiled.program->run(arguments, results);
    return results;
  }

  // Releases the saved tensors of the nodes before a call's turn.
  static void release(const BackwardCall& call, const BackwardGraph& graph, int end) {
    if (call.keep_graph) return;
    for (int i = 0; i < end; ++i)
      if (const NodeCall& one = graph.calls[static_cast<size_t>(i)]; one.is_needed) one.node->release_saved();
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
  act_immediately("compiled_autograd::set_enabled()", {});
  BackwardInterceptor& interceptor = context().default_interceptor.get([] { return new Interceptor({}); });
  context().interceptor.store(enabled ? &interceptor : nullptr, std::memory_order_release);
}

std::shared_ptr<void> detail::open_scope(bool fullgraph, const std::vector<std::string>& executors,
                                         bool allow_excess_precision) {
  return std::make_shared<Scope>(
      Options{.fullgraph = fullgraph, .executors = executors, .allow_excess_precision = allow_excess_precision});
}

int64_t captures() { return Captures::all().count(); }
std::vector<Trace> last_traces() { return Captures::all().last_traces(); }
void reset() {
  act_immediately("compiled_autograd::reset()", {});
  Captures::all().reset();
}

}  // namespace compiled_autograd

}  // namespace fulgurite
