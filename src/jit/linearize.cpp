#include <algorithm>

#include <fulgurite/autograd.h>
#include <fulgurite/error.h>
#include <fulgurite/function_transforms.h>
#include <fulgurite/operators.h>

#include "ir/analysis/trace_values.h"
#include "jit/arguments/leaf_names.h"
#include "jit/recording.h"
#include "ops/core/recorder.h"
#include "ops/generated/symbols.h"
#include "support/text/text.h"
#include "tracing/evaluate.h"
#include "transforms/in_place.h"

namespace fulgurite {

namespace detail {

namespace {

/// The state of a pullback: the backward trace with its saved tensors, and the arguments.
struct Backward {
  Trace trace;
  std::vector<Tensor> saved;
  std::vector<uint32_t> versions;     // that the saved tensors' storages had
  std::vector<Value> cotangents;      // the trace's, one per result; none if no cotangent is needed
  std::vector<int> result_slots;      // for each tensor leaf of the result
  std::vector<Tensor> results;        // one for each result of the trace
  std::vector<Tensor> arguments;      // every tensor leaf of the arguments
  std::vector<char> with_respect_to;  // true if its gradient was requested
  std::vector<int> gradients;         // which of the trace's results is its gradient; -1: none
};

// The tensor leaves of the arguments that gradients are taken of, and the number of all leaves of arguments.
std::vector<char> wanted_leaves(const std::vector<LeafPath>& paths, const FlatArguments& flat,
                                const std::vector<int>& wrt) {
  std::vector<char> wanted;
  for (const LeafPath& path : paths) {
    if (!path.is_tensor) continue;
    const Tensor& tensor = *flat.tensors()[wanted.size()];
    const bool is_asked = std::find(wrt.begin(), wrt.end(), path.argument) != wrt.end();
    wanted.push_back(is_asked && tensor.defined() && is_floating(tensor.dtype()));
  }
  return wanted;
}

// A function of integers alone has no gradient; what belongs to integers beside floating tensors is given back as it
// is.
void require_a_gradient(const std::vector<LeafPath>& paths, const FlatArguments& flat, const std::vector<int>& wrt,
                        const std::vector<char>& wanted, const char* what, SourceLocation at) {
  if (std::find(wanted.begin(), wanted.end(), true) != wanted.end()) return;
  size_t leaf = 0;
  for (const LeafPath& path : paths) {
    if (!path.is_tensor) continue;
    const Tensor& tensor = *flat.tensors()[leaf++];
    if (!tensor.defined() || std::find(wrt.begin(), wrt.end(), path.argument) == wrt.end()) continue;
    throw UserError(text::cat(what, ": what is differentiated has no floating tensor, only ", type_text(tensor),
                              ", and integers have no gradient; convert it with to(Dtype::f32) first"),
                    at);
  }
}

size_t count_argument_tensors(const std::vector<LeafPath>& paths) {
  size_t count = 0;
  for (const LeafPath& path : paths) count += path.is_tensor && path.argument != LeafPath::callable_member;
  return count;
}

// Keeps only the requested gradients and their dependencies.
void keep_wanted_gradients(Trace& backward, const Recording& recording, const std::vector<char>& wanted) {
  SharedVector<Value>& gradients = backward.bound_symbols.back().args;
  for (size_t i = 0; i < gradients.size() && i < recording.inputs.size(); ++i) {
    const RecordedInput& input = recording.inputs[i];
    if (input.leaf == RecordedInput::captured || !wanted[input.leaf]) gradients[i] = Value();
  }
  remove_dead_code(backward);
}

// Inside a recording the saved values are chosen as for a compiled function; in eager evaluation everything is saved.
ForwardBackwardTraces differentiate(const Trace& trace) {
  const Recorder* const recorder = innermost_recorder();
  if (!recorder) return forward_and_backward_from_trace(trace);
  const Trace joint =
      choose_recomputation(grad_transform_on_trace(trace), {.memory_budget = recorder->memory_budget()});
  return split_into_forward_and_backward(joint);
}

Recording record_for_gradients(const CallableTable& table, void* callable, const void* const* arguments,
                               const FlatArguments& flat, const std::vector<LeafPath>& paths,
                               const std::vector<char>& wanted, SourceLocation at) {
  const std::vector<std::string> names = leaf_names(paths, flat, {});
  const EnableGrad enable_grad;  // the callable's own gradients are wanted, whatever the mode outside
  return record_callable({table, callable, arguments, flat, paths, names, at, &wanted});
}

// Inside a recording: handles that later writes do not change.
std::vector<Tensor> saved_as_they_are(std::vector<Tensor> tensors) {
  Recorder* const recorder = innermost_recorder();
  if (!recorder) return tensors;
  for (Tensor& tensor : tensors)
    if (tensor.defined()) tensor = recorder->adopt(recorder->value_of(tensor).tensor_ref());
  return tensors;
}

uint32_t version_of(const Tensor& tensor) {
  const bool has_memory = tensor.defined() && !is_proxy(tensor);
  return has_memory ? tensor.impl()->storage->version.load(std::memory_order_relaxed) : 0;
}

void check_versions(const Backward& backward, SourceLocation at) {
  for (size_t i = 0; i < backward.saved.size(); ++i)
    if (version_of(backward.saved[i]) != backward.versions[i])
      throw UserError(text::cat("vjp: a tensor that the pullback needs, ", type_text(backward.saved[i]),
                                ", was written in place after the function had been called; write into a clone"),
                      at);
}

}  // namespace

Trace record(const CallableTable& table, void* callable, const void* const* arguments, SourceLocation at) {
  FlatArguments flat(table, is_tracing());
  table.read(callable, arguments, flat);
  flat.finish();
  std::vector<LeafPath> paths;
  table.paths(callable, arguments, paths);
  const std::vector<std::string> names = leaf_names(paths, flat, {});
  return record_callable({table, callable, arguments, flat, paths, names, at}).trace;
}

Linearized linearize(const CallableTable& table, void* callable, const void* const* arguments,
                     const std::vector<int>& wrt, const char* what, SourceLocation at) {
  FlatArguments flat(table, is_tracing());
  table.read(callable, arguments, flat);
  std::vector<LeafPath> paths;
  table.paths(callable, arguments, paths);
  const std::vector<char> wanted = wanted_leaves(paths, flat, wrt);
  require_a_gradient(paths, flat, wrt, wanted, what, at);
  Recording recording = record_for_gradients(table, callable, arguments, flat, paths, wanted, at);
  check_writes(recording, flat, text::cat("the function given to ", what), at);

  std::vector<Tensor> inputs;
  for (const RecordedInput& input : recording.inputs)
    inputs.push_back(input.leaf == RecordedInput::captured ? input.tensor : *flat.tensors()[input.leaf]);

  auto backward = std::make_shared<Backward>();
  const size_t argument_tensors = count_argument_tensors(paths);
  for (size_t i = 0; i < argument_tensors; ++i) backward->arguments.push_back(*flat.tensors()[i]);
  backward->with_respect_to.assign(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(argument_tensors));
  backward->gradients.assign(argument_tensors, -1);
  backward->result_slots = recording.result_slots;

  std::vector<Tensor> results;
  if (recording.requires_grad) {
    ForwardBackwardTraces traces = differentiate(recording.trace);
    keep_wanted_gradients(traces.backward, recording, wanted);
    results = evaluate(traces.forward, inputs);
    backward->saved = saved_as_they_are({results.begin() + recording.result_count, results.end()});
    for (const Tensor& saved : backward->saved) backward->versions.push_back(version_of(saved));
    results.resize(recording.result_count);
    backward->cotangents = traces.backward.args.at(1).list();
    for (size_t i = 0; i < recording.inputs.size(); ++i) {
      const int leaf = recording.inputs[i].leaf;
      if (leaf != RecordedInput::captured && static_cast<size_t>(leaf) < argument_tensors)
        backward->gradients[leaf] = static_cast<int>(i);
    }
    backward->trace = std::move(traces.backward);
  } else {
    results = evaluate(recording.trace, inputs);
  }
  backward->results = results;

  Linearized out;
  out.result.rest = recording.rest;
  for (const int slot : recording.result_slots) out.result.tensors.push_back(slot < 0 ? Tensor() : results[slot]);
  out.backward = std::move(backward);
  return out;
}

std::vector<Tensor> pull_back(const Linearized& linearized, const std::vector<Tensor>& cotangents, SourceLocation at) {
  const auto& backward = *static_cast<const Backward*>(linearized.backward.get());
  if (cotangents.size() != backward.result_slots.size())
    throw UserError(
        text::cat("vjp: the result has ", backward.result_slots.size(), " tensors, the cotangent ", cotangents.size()),
        at);

  std::vector<Tensor> given(backward.results.size());
  for (size_t i = 0; i < cotangents.size(); ++i) {
    const int slot = backward.result_slots[i];
    if (slot < 0 || !cotangents[i].defined()) continue;
    const Tensor& result = backward.results[slot];
    if (!is_floating(result.dtype())) continue;
    if (!(cotangents[i].shape() == result.shape()) || cotangents[i].dtype() != result.dtype())
      throw UserError(text::cat("vjp: the cotangent is ", type_text(cotangents[i]), ", the result ", type_text(result)),
                      at);
    given[slot] = given[slot].defined() ? add(given[slot], cotangents[i], 1, at) : cotangents[i];
  }

  std::vector<Tensor> found;
  check_versions(backward, at);
  if (!backward.cotangents.empty()) {
    std::vector<Tensor> inputs = backward.saved;
    for (size_t i = 0; i < backward.cotangents.size(); ++i) {
      if (!backward.cotangents[i].is_tensor()) inputs.emplace_back();
      else inputs.push_back(given[i].defined() ? given[i] : zeros_like(backward.results[i], {}, at));
    }
    found = evaluate(backward.trace, inputs);
  }

  std::vector<Tensor> gradients;
  for (size_t leaf = 0; leaf < backward.arguments.size(); ++leaf) {
    const Tensor& argument = backward.arguments[leaf];
    const int position = backward.gradients[leaf];
    if (!backward.with_respect_to[leaf]) gradients.push_back(argument);
    else if (position >= 0 && found[position].defined()) gradients.push_back(found[position]);
    else gradients.push_back(zeros_like(argument, {}, at));
  }
  return gradients;
}

std::vector<Tensor> pull_back_from_scalar(const Linearized& linearized, const char* what, SourceLocation at) {
  const auto& backward = *static_cast<const Backward*>(linearized.backward.get());
  const int slot = backward.result_slots.empty() ? -1 : backward.result_slots[0];
  const std::string found = slot < 0 ? std::string("nothing") : type_text(backward.results[slot]);
  const bool is_scalar = slot >= 0 && is_floating(backward.results[slot].dtype()) && backward.results[slot].ndim() == 0;
  if (!is_scalar)
    throw UserError(
        text::cat(what,
                  ": the function must return a scalar floating tensor (of no dimensions), or a tuple that begins "
                  "with one; it returned ",
                  found, " (take sum() or mean() of it, or use vjp)"),
        at);
  std::vector<Tensor> cotangents(backward.result_slots.size());
  cotangents[0] = ones_like(backward.results[slot], {}, at);
  return pull_back(linearized, cotangents, at);
}

RecomputeScope::RecomputeScope() {
  Recorder* const recorder = innermost_recorder();
  if (!recorder) return;
  Tags tags = recorder->tags();
  is_outermost_ = !tags.has(Tag::recompute_in_backward);
  tags.add(Tag::recompute_in_backward);
  recorder->set_tags(tags);
}

void RecomputeScope::leave(std::span<const Tensor> results) const {
  // Inside another checkpoint they are recomputed with the rest of it. The proxies are still this recording's own.
  if (!is_outermost_) return;
  for (const Tensor& result : results)
    if (result.defined() && result.impl()->proxy) result.impl()->proxy->tags.add(Tag::checkpoint_result);
}

RecomputeScope::~RecomputeScope() {
  Recorder* const recorder = innermost_recorder();
  if (!recorder || !is_outermost_) return;
  Tags tags = recorder->tags();
  tags.remove(Tag::recompute_in_backward);
  recorder->set_tags(tags);
}

}  // namespace detail

}  // namespace fulgurite
