#include <fulgurite/jit.h>

#include <algorithm>

#include <fulgurite/error.h>
#include <fulgurite/extend.h>
#include <fulgurite/passes.h>

#include "ir/analysis/trace_values.h"
#include "ir/note.h"
#include "jit/checked_transform.h"
#include "jit/jit_state.h"
#include "ops/core/dispatch.h"
#include "pipeline/pass_list.h"
#include "support/text/text.h"

namespace fulgurite {

namespace detail {

std::shared_ptr<JitState> make_jit_state(std::shared_ptr<void> callable, JitOptions options, OpenScope open_scope,
                                         SourceLocation at) {
  check_options(options, at);
  const bool names_executors = !options.executors.empty();
  if (options.executors.empty()) options.executors = default_executors();
  if (options.executors.empty()) options.executors = {"eager"};
  if (!options.compiled_autograd) open_scope = nullptr;
  return std::make_shared<JitState>(std::move(callable), std::move(options), names_executors, std::vector<Transform>(),
                                    open_scope, at);
}

std::shared_ptr<JitState> with_transforms(const JitState& state, std::vector<Transform> transforms, SourceLocation at) {
  std::vector<Transform> all = state.transforms();
  for (Transform& transform : transforms) {
    if (!transform) throw UserError("with_transforms: a transform is empty", at);
    const std::string name =
        text::cat("\"User transform\", transform ", all.size(), " of those given to with_transforms");
    all.push_back(checked_transform(std::move(transform), name, at));
  }
  return std::make_shared<JitState>(state.shared_callable(), state.options(), state.names_executors(), std::move(all),
                                    state.open_scope(), at, state.watch(), state.passes());
}

std::shared_ptr<JitState> with_passes(const JitState& state, const Passes& passes, SourceLocation at) {
  auto checked = std::make_shared<PassList>(*passes.list());
  for (NamedPass& pass : checked->passes)
    if (pass.transform)
      pass.transform = checked_transform(std::move(pass.transform), text::cat("the pass \"", pass.name, "\""), at);
  return std::make_shared<JitState>(state.shared_callable(), state.options(), state.names_executors(),
                                    state.transforms(), state.open_scope(), at, state.watch(), std::move(checked));
}

void call(JitState& state, const CallableTable& table, const void* const* arguments, SourceLocation at,
          CallResult& result) {
  state.call(table, arguments, at, result);
}

void* callable_of(const JitState& state) { return state.callable(); }

bool is_tracing() { return innermost_interpreter() != nullptr; }

namespace {

std::shared_ptr<const CacheEntry> last_entry(const Jitted& f, const char* what) {
  std::shared_ptr<const CacheEntry> last = f.state()->store().last();
  if (!last) throw UserError(text::cat(what, ": the function has not been called yet"));
  return last;
}

/// The stages, with a copy annotated by the observer after each trace that was observed.
std::vector<Trace> with_notes(std::vector<Trace> stages, const ExecutionObserver& watch) {
  std::vector<Trace> out;
  for (Trace& stage : stages) {
    std::vector<std::string> notes = watch.notes(stage);
    out.push_back(std::move(stage));
    if (std::ranges::all_of(notes, &std::string::empty)) continue;
    Trace noted = without_symbols(out.back());
    noted.provenance = "Callbacks";
    for (size_t i = 0; i < notes.size(); ++i) {
      if (!notes[i].empty()) noted.bound_symbols.push_back(note_line(notes[i]));
      noted.bound_symbols.push_back(out.back().bound_symbols.read()[i]);
    }
    out.push_back(std::move(noted));
  }
  return out;
}

/// The last call's stages; with graph breaks, subgraph after subgraph.
std::vector<Trace> all_last_stages(const Jitted& f, const char* what, std::vector<Trace> Stages::*of) {
  const std::shared_ptr<const CacheEntry> last = last_entry(f, what);
  if (!last->has_graph_breaks) return f.state()->store().stages(*last).get()->*of;
  std::vector<Trace> traces;
  for (const auto& subgraph : f.state()->last_subgraphs()) {
    const std::shared_ptr<const Stages> stages = f.state()->store().stages(*subgraph);
    traces.insert(traces.end(), (stages.get()->*of).begin(), (stages.get()->*of).end());
  }
  return traces;
}

std::vector<Trace> last_stages(const Jitted& f, const char* what, std::vector<Trace> Stages::*of) {
  std::vector<Trace> stages = all_last_stages(f, what, of);
  return f.state()->watch() ? with_notes(std::move(stages), *f.state()->watch()) : stages;
}

}  // namespace

}  // namespace detail

std::vector<Trace> last_traces(const Jitted& f) {
  return detail::last_stages(f, "last_traces", &detail::Stages::forward);
}

std::vector<Trace> last_backward_traces(const Jitted& f) {
  return detail::last_stages(f, "last_backward_traces", &detail::Stages::backward);
}

std::vector<Trace> last_prologue_traces(const Jitted& f) {
  const auto last = detail::last_entry(f, "last_prologue_traces");
  return f.state()->store().stages(*last)->prologue;
}

int64_t cache_hits(const Jitted& f) { return f.state()->stats().hits; }
int64_t cache_misses(const Jitted& f) { return f.state()->stats().misses; }
CompileStats compile_stats(const Jitted& f) { return f.state()->stats(); }
CacheStats cache_stats(const Jitted& f) { return f.state()->store().stats(); }

void graph_break(SourceLocation at) {
  if (Interpreter* const interpreter = innermost_interpreter()) interpreter->break_here("graph_break()", at);
}

void mark_dynamic(const Tensor& tensor, int dim, SourceLocation at) {
  if (!tensor.defined()) throw UserError("mark_dynamic() of an undefined tensor", at);
  if (is_proxy(tensor))
    throw UserError("mark_dynamic() inside a traced function: mark the argument before the call", at);
  const int64_t count = tensor.ndim();
  const int64_t wanted = dim < 0 ? dim + count : dim;
  if (wanted < 0 || wanted >= count)
    throw UserError(text::cat("mark_dynamic(): dim ", dim, " is out of range for ", type_text(tensor)), at);
  constexpr int64_t max_marked = 16;
  if (wanted >= max_marked) throw UserError("mark_dynamic(): only the first 16 dimensions can be marked", at);
  tensor.impl()->dynamic_dims |= static_cast<uint16_t>(1u << wanted);
}

}  // namespace fulgurite
