#include <algorithm>

#include <fulgurite/error.h>
#include <fulgurite/repro.h>

#include "codegen/gemm/amx.h"
#include "examine/fusions/kernel_layout.h"
#include "support/text/text.h"

namespace fulgurite::examine {

namespace {

codegen::KernelOperand operand(const examine::KernelOperand& from) {
  codegen::KernelOperand to;
  to.dtype = from.dtype;
  to.extent = static_cast<codegen::Extent>(from.extent);
  to.is_column_sum = from.is_column_sum;
  to.is_place = from.is_place;
  for (const int bits : from.dimensions) to.dimensions.push_back(bits);
  return to;
}

examine::KernelOperand operand(const codegen::KernelOperand& from) {
  examine::KernelOperand to;
  to.dtype = from.dtype;
  to.extent = static_cast<examine::KernelOperand::Extent>(from.extent);
  to.is_column_sum = from.is_column_sum;
  to.is_place = from.is_place;
  to.dimensions.assign(from.dimensions.begin(), from.dimensions.end());
  return to;
}

void run_fusion(const FusedKernel& kernel, std::span<const Tensor> inputs, std::span<const Tensor> results) {
  SmallVector<Argument, 48> arguments;
  for (const Tensor& input : inputs) arguments.push_back(Argument(input));
  kernel.run({arguments.data(), arguments.size()}, results);
}

}  // namespace

KernelLayout layout_of(const fuser::FusionKernel& kernel) {
  const codegen::Kernel& loop = kernel.kernel();
  KernelLayout out;
  for (const codegen::KernelOperand& input : loop.inputs) out.inputs.push_back(operand(input));
  for (const codegen::KernelOperand& output : loop.outputs) out.outputs.push_back(operand(output));
  out.numbers = loop.numbers;
  out.dimensions = loop.dimensions;
  out.first_column_dimension = loop.first_column_dimension;
  out.kept_rows = kernel.schedule().kept_rows;
  out.has_row_sums = loop.has_row_sums;
  out.has_column_sums = loop.has_column_sums;
  return out;
}

Kernel::Kernel(void (*function)(), const KernelLayout& layout)
    : inputs_(layout.inputs.size()), results_(layout.outputs.size()) {
  codegen::Kernel loop;
  for (const examine::KernelOperand& input : layout.inputs) loop.inputs.push_back(operand(input));
  for (const examine::KernelOperand& output : layout.outputs) loop.outputs.push_back(operand(output));
  loop.numbers = layout.numbers;
  loop.dimensions = layout.dimensions;
  loop.first_column_dimension = layout.first_column_dimension;
  loop.has_row_sums = layout.has_row_sums;
  loop.has_column_sums = layout.has_column_sums;
  codegen::Schedule schedule;
  schedule.kept_rows = layout.kept_rows;
  made_ = std::make_shared<const fuser::FusionKernel>(
      loop, schedule, std::string(), codegen::CompiledKernel{reinterpret_cast<kernels::KernelFunction>(function)});
}

void Kernel::run(std::span<const Tensor> inputs, std::span<const Tensor> results) const {
  if (inputs.size() != inputs_ || results.size() != results_)
    throw UserError(text::cat("Kernel::run: the kernel has ", inputs_, " inputs and ", results_, " outputs, got ",
                              inputs.size(), " and ", results.size()));
  run_fusion(*static_cast<const fuser::FusionKernel*>(made_.get()), inputs, results);
}

GemmLayout layout_of(const fused_gemm::GemmKernel& kernel) {
  const codegen::GemmForm& form = kernel.gemm().form;
  const kernels::GemmTiles& tiles = kernel.tiles();
  std::vector<GemmOperand> operands;
  for (const codegen::GemmEpilogue::Operand& operand : form.epilogue.operands)
    operands.push_back({operand.dtype, operand.is_row});
  return {form.left,
          form.right,
          form.number,
          form.epilogue.results,
          std::move(operands),
          kernel.gemm().is_linear,
          {tiles.tile_rows, tiles.panel_rows, tiles.step_depth, tiles.slice_steps, tiles.several_steps,
           tiles.block_rows, tiles.packed_numbers}};
}

Gemm::Gemm(void (*pack)(), void (*multiply)(), const GemmLayout& layout)
    : inputs_(2 + layout.operands.size()), results_(layout.results.size()) {
  const GemmTiles& tiles = layout.tiles;
  if (std::min({tiles.tile_rows, tiles.panel_rows, tiles.step_depth, tiles.slice_steps, tiles.several_steps,
                tiles.block_rows, tiles.packed_numbers}) < 1)
    throw UserError(
        "Gemm: the layout's tiles must be those that the kernels were written for; a program that `fulgurite "
        "repro` writes has them");
  if (results_ + layout.operands.size() > codegen::max_gemm_matrices || results_ == 0)
    throw UserError(text::cat("Gemm: the layout has ", results_, " results and ", layout.operands.size(),
                              " operands beside the GEMM's, the most are ", codegen::max_gemm_matrices, " together"));
  codegen::amx_is_usable();  // requests AMX from the system, if the kernels use it
  codegen::CompiledGemm kernels;
  kernels.pack = reinterpret_cast<kernels::GemmFunction>(pack);
  kernels.multiply = reinterpret_cast<kernels::GemmFunction>(multiply);
  kernels.tiles = {tiles.tile_rows,     tiles.panel_rows, tiles.step_depth,    tiles.slice_steps,
                   tiles.several_steps, tiles.block_rows, tiles.packed_numbers};
  codegen::GemmForm form{layout.left, layout.right, layout.number, {}};
  form.epilogue.results = layout.results;
  for (const GemmOperand& operand : layout.operands) form.epilogue.operands.push_back({operand.dtype, operand.is_row});
  made_ = std::make_shared<const fused_gemm::GemmKernel>(fused_gemm::GemmOp{std::move(form), layout.is_linear},
                                                         std::move(kernels));
}

void Gemm::run(std::span<const Tensor> inputs, std::span<const Tensor> results) const {
  if (inputs.size() != inputs_ || results.size() != results_)
    throw UserError(text::cat("Gemm::run: the GEMM has ", inputs_, " inputs and ", results_, " outputs, got ",
                              inputs.size(), " and ", results.size()));
  run_fusion(*static_cast<const fused_gemm::GemmKernel*>(made_.get()), inputs, results);
}

}  // namespace fulgurite::examine
