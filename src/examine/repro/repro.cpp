#include <algorithm>

#include <fulgurite/autograd_modes.h>
#include <fulgurite/error.h>
#include <fulgurite/extend.h>
#include <fulgurite/io.h>
#include <fulgurite/repro.h>
#include <fulgurite/symbol.h>

#include "examine/debug/slice_inputs.h"
#include "examine/fusions/find_fusion.h"
#include "examine/memory/reuse_distance.h"
#include "examine/repro/repro_program.h"
#include "ir/analysis/trace_values.h"
#include "ir/note.h"
#include "jit/jit_state.h"
#include "ir/structural.h"
#include "pipeline/debug/compare_tensors.h"
#include "pipeline/debug/slice.h"
#include "runtime/slot_layouts.h"
#include "support/text/text.h"

namespace fulgurite::examine {

namespace {

FusionInput contiguous(const TensorProxy& proxy) {
  FusionInput out;
  out.name = proxy.name;
  out.dtype = proxy.dtype;
  out.device = proxy.device;
  for (const Int size : proxy.shape) out.shape.push_back(size.hint());
  out.strides.resize(out.shape.size());
  int64_t stride = 1;
  for (size_t d = out.shape.size(); d-- > 0; stride *= std::max<int64_t>(out.shape[d].hint(), 1))
    out.strides[d] = stride;
  return out;
}

FusionInput like(const std::string& name, const Tensor& tensor) {
  FusionInput out;
  out.name = name;
  out.dtype = tensor.dtype();
  for (const int64_t size : tensor.impl()->sizes) out.shape.push_back(size);
  for (const int64_t stride : tensor.impl()->strides) out.strides.push_back(stride);
  return out;
}

std::string written(const ReproProgram& program) {
  return program.options.language == ReproOptions::Language::python ? python_program(program) : cpp_program(program);
}

// Replaces synthetic inputs by the user's tensors, with their layout; their elements go into the file.
void take_given_inputs(ReproProgram& program) {
  const ReproOptions& options = program.options;
  if (options.inputs.empty()) return;
  if (options.data.empty())
    throw UserError("repro: ReproOptions::inputs are written to a file: ReproOptions::data names it");
  if (options.inputs.size() != program.inputs.size())
    throw UserError(text::cat("repro: ", program.title, " takes ", program.inputs.size(), " tensors (",
                              text::join(program.inputs, [](const FusionInput& input) { return input.name; }),
                              "), got ", options.inputs.size()));
  TensorMap all;
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    program.inputs[i] = like(program.inputs[i].name, options.inputs[i]);
    all[program.inputs[i].name] = options.inputs[i].detach();
  }
  save_safetensors(options.data, all);
  for (FusionInput& output : program.outputs) output.shares_with = {};
}

// Ops that round to a shorter type than that of their results may run without that rounding.
void take_tolerance(ReproProgram& program) {
  Tolerance& tolerance = program.options.tolerance;
  for (const FusionInput& output : program.outputs) {
    const AllowedDifference usual = allowed_difference(output.dtype),
                            allowed = allowed_difference(output.dtype, program.lines.bound_symbols.read());
    if (allowed.relative <= usual.relative && allowed.absolute <= usual.absolute) continue;
    if (!program.options.tolerance.relative) tolerance.relative = allowed.relative;
    if (!program.options.tolerance.absolute) tolerance.absolute = allowed.absolute;
  }
}

ReproProgram make_program(std::string title, std::string file, const Trace& slice, const ReproOptions& options) {
  ReproProgram program;
  program.title = std::move(title);
  program.file = std::move(file);
  program.options = options;
  program.lines = without_claims(slice);
  program.lines.name = "reference";
  for (const Value& arg : slice.args) program.inputs.push_back(contiguous(arg.tensor()));
  for (const Value& result : returned_values(slice)) program.outputs.push_back(contiguous(result.tensor()));
  program.executors = options.executors;
  take_tolerance(program);
  if (program.outputs.empty() && program.written().empty())
    throw UserError(text::cat("repro: ", program.title, " give nothing that is used later"));
  return program;
}

bool has_fusion(const Trace& slice) { return std::ranges::any_of(slice.bound_symbols.read(), &BoundSymbol::is_fusion); }

// The slots of a program's values, by id.
std::vector<int> slots_of(const ExecutionPlan& plan) {
  std::vector<int> out(static_cast<size_t>(plan.trace.next_id), -1);
  const auto set = [&](const Value& value, int slot) {
    if (value.is_tensor() && out[static_cast<size_t>(value.tensor().id)] < 0)
      out[static_cast<size_t>(value.tensor().id)] = slot;
  };
  const std::vector<Value> inputs = input_values(plan.trace);
  for (size_t i = 0; i < inputs.size(); ++i) set(inputs[i], plan.inputs[i]);
  for (const BoundSymbol& bound : plan.trace.bound_symbols.read()) {
    if (!is_unpack(bound)) continue;
    const std::vector<Value> from = bound.flat_args(), to = bound.flat_outs();
    for (size_t i = 0; i < std::min(from.size(), to.size()); ++i)
      if (from[i].is_tensor()) set(to[i], out[static_cast<size_t>(from[i].tensor().id)]);
  }
  for (const Step& step : plan.steps) {
    if (!step.bound) continue;
    int next = step.result;
    for_each_output(*step.bound, [&](const Value& value) { set(value, next++); });
    size_t operand = 0;
    for_each_argument(*step.bound, [&](const Value& value) {
      if (value.is_tensor() && operand < step.operands.size()) set(value, step.operands[operand++]);
    });
  }
  return out;
}

// The first step of an op or of one after it.
size_t step_of(const ExecutionPlan& plan, int op) {
  const BoundSymbol* const first = plan.trace.bound_symbols.read().data() + op;
  const auto found =
      std::ranges::find_if(plan.steps, [&](const Step& step) { return step.bound && step.bound >= first; });
  return static_cast<size_t>(found - plan.steps.begin());
}

void take_layouts(ReproProgram& program, const Trace& slice, int first_line, const Program& ran) {
  const std::vector<int> slots = slots_of(ran.plan());
  const ProgramMemory lies(ran);
  const size_t step = step_of(ran.plan(), first_line);
  const std::vector<SlotLayout> layouts = slot_layouts(ran.plan(), ran.last_inputs());
  std::vector<int> memory;
  for (size_t i = 0; i < slice.args.size(); ++i) {
    const int slot = slots[static_cast<size_t>(slice.args[i].tensor().id)];
    memory.push_back(-1);
    if (slot < 0) continue;
    const SlotLayout& layout = layouts[static_cast<size_t>(slot)];
    FusionInput& input = program.inputs[i];
    input.strides = {};
    for (const int64_t stride : layout.strides) input.strides.push_back(stride);
    input.offset = layout.offset;
    input.moved_since = lies.moved_since(slot, step);
    const auto first = std::ranges::find(memory, layout.memory);
    if (first != memory.end()) input.shares_with = program.inputs[static_cast<size_t>(first - memory.begin())].name;
    memory.back() = layout.memory;
  }
}

// Ops are counted as last_traces() shows them, including what callbacks printed among them; a program has no such
// entries.
int op_that_ran(const Trace& shown, int op) {
  const auto lines = shown.bound_symbols.read().first(
      static_cast<size_t>(std::clamp<int>(op, 0, static_cast<int>(shown.bound_symbols.size()))));
  return op - static_cast<int>(std::ranges::count_if(lines, is_note));
}

std::string ops_text(int first, int last) { return text::cat("lines_", first, "_", last); }

}  // namespace

std::vector<size_t> ReproProgram::written() const {
  std::vector<size_t> out;
  for (const BoundSymbol& bound : lines.bound_symbols.read()) {
    if (!is_write(bound)) continue;
    for (size_t i = 0; i < lines.args.size(); ++i)
      if (lines.args[i].proxy_id() == bound.args.read()[1].proxy_id()) out.push_back(i);
  }
  return out;
}

std::vector<Tensor> ReproProgram::make_inputs() const {
  return options.data.empty() ? make_tensors(inputs, options.seed) : load_tensors(inputs, options.data);
}

std::string repro(const Jitted& f, std::string_view fusion, const ReproOptions& options) {
  check_not_recording("repro");
  const NoGrad no_grad;
  const FoundFusion found = find_fusion(f, fusion, "repro");
  const Trace& trace = found.program->trace();
  const Trace slice = slice_of_op(trace, *found.bound);
  const std::string name = found.bound->name();
  ReproProgram program = make_program(text::cat(name, " of ", trace.name), name, slice, options);
  FusionTensors tensors = tensors_of(found);
  // A tensor that is passed twice is one input of the program.
  for (FusionInput& input : program.inputs) input = *std::ranges::find(tensors.inputs, input.name, &FusionInput::name);
  program.outputs = std::move(tensors.outputs);
  program.kernel = found.bound->implementation->fusion;
  program.kernel_name = name;
  if (program.executors.empty()) program.executors = f.state()->options().executors;
  program.executed = slice;
  take_given_inputs(program);
  return written(program);
}

std::string repro(const Jitted& f, int first, int last, Stage stage, const ReproOptions& options) {
  check_not_recording("repro");
  const NoGrad no_grad;
  std::vector<std::shared_ptr<const Program>> programs = programs_of_last_call(f, "repro");
  std::erase_if(programs, [&](const auto& program) {
    return program->trace().tags.has(Tag::backward) != (stage == Stage::backward);
  });
  if (programs.empty()) throw UserError("repro: no backward of the last call has run");
  if (programs.size() > 1)
    throw UserError("repro: the function has graph breaks, and so several traces: give repro() one of last_traces()");
  const Program& ran = *programs.front();
  const Trace shown = (stage == Stage::forward ? last_traces(f) : last_backward_traces(f)).back();
  const int first_run = op_that_ran(shown, first);
  const Trace slice = slice_of(ran.trace(), first_run, op_that_ran(shown, last));
  ReproProgram program = make_program(text::cat("lines [", first, ", ", last, ") of ", ran.trace().name),
                                      ops_text(first, last), slice, options);
  take_layouts(program, slice, first_run, ran);
  const auto& state = *f.state();
  if (program.executors.empty() && (state.names_executors() || has_fusion(slice)))
    program.executors = state.options().executors;
  program.executed = executable_slice(slice, options.executors);
  take_given_inputs(program);
  return written(program);
}

std::string repro(const Jitted& f, int first, int last, const ReproOptions& options, Stage stage) {
  return repro(f, first, last, stage, options);
}

std::string repro(const Trace& trace, int first, int last, const ReproOptions& options, const Layouts& layouts) {
  check_not_recording("repro");
  const NoGrad no_grad;
  const Trace slice = slice_of(trace, first, last);
  ReproProgram program =
      make_program(text::cat("lines [", first, ", ", last, ") of ", trace.name), ops_text(first, last), slice, options);
  for (const auto& [name, layout] : layouts) {
    const auto input = std::ranges::find(program.inputs, name, &FusionInput::name);
    if (input == program.inputs.end()) throw UserError(text::cat("repro: ", program.title, " have no input ", name));
    input->strides = layout.strides;
    input->offset = layout.offset;
  }
  if (program.executors.empty() && has_fusion(slice)) program.executors = default_executors();
  program.executed = executable_slice(slice, options.executors);
  take_given_inputs(program);
  return written(program);
}

}  // namespace fulgurite::examine
