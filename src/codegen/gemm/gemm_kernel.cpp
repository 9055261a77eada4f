#include "codegen/gemm/gemm_kernel.h"

#include "codegen/gemm/amx.h"
#include "codegen/gemm/cpu.h"
#include "codegen/gemm/gemm_source.h"
#include "codegen/gemm/prebuilt_forms.h"
#include "codegen/host_compiler/compile_kernels.h"
#include "codegen/prebuilt_gemm/prebuilt_kernel.h"
#include "codegen/render/vector_target.h"

namespace fulgurite::codegen {

namespace {

KernelSource kernel_source(const GemmSource& function) {
  KernelSource source;
  source.text = function.text("extern \"C\"");
  source.plain_text = source.text;  // the name identifies it
  source.name = function.name;
  source.is_gemm = true;
  return source;
}

// The unit and the tiles that codegen/device_lib/gemm_units.h chooses.
GemmUnit unit_of(const GemmForm& form, Instructions instructions) {
  if (form.number != Dtype::bf16) return GemmUnit::elements;
  if (instructions.has_amx) return GemmUnit::tiles;
  return instructions.set == InstructionSet::avx512_bf16 ? GemmUnit::pairs : GemmUnit::elements;
}
kernels::GemmTiles tiles_of(GemmUnit unit, Instructions instructions) {
  if (unit == GemmUnit::tiles) return kernels::amx_tiles;
  if (unit == GemmUnit::pairs) return kernels::pair_tiles;
  return instructions.set >= InstructionSet::avx512 ? kernels::wide_single_tiles : kernels::narrow_single_tiles;
}

// The prebuilt function of this number, if it has been compiled for these instructions.
LibraryFunction prebuilt_function([[maybe_unused]] int number, [[maybe_unused]] const GemmForm& form,
                                  [[maybe_unused]] Instructions instructions) {
#if defined(FULGURITE_PREBUILT_GEMMS)
  const bool has_bf16_dot = form.number == Dtype::bf16 && instructions.set == InstructionSet::avx512_bf16;
  if (form.number == Dtype::bf16 && instructions.has_amx)
    return has_bf16_dot ? gemms_amx::library_function(number) : nullptr;
  if (has_bf16_dot) return gemms_avx512_bf16::library_function(number);
  if (instructions.set >= InstructionSet::avx512) return gemms_avx512::library_function(number);
  if (instructions.set == InstructionSet::avx2) return gemms_avx2::library_function(number);
#endif
  return nullptr;
}

/// The functions of GEMM kernels: prebuilt, or compiled.
class GemmFunctions {
 public:
  GemmFunctions(Instructions instructions, bool generates_all)
      : instructions_(instructions), generates_all_(generates_all) {}

  void add_packing(const GemmForm& form) {
    add(form, prebuilt_.packing_number(form), kernel_source(packing_source(form)));
  }
  void add_multiplying(const GemmForm& form) {
    KernelSource source = kernel_source(with_own_name(form));
    source.has_angles = header_parts(form.epilogue).has_angles;
    add(form, prebuilt_.multiplying_number(form), std::move(source));
    multiplied_.push_back(form);
  }
  /// Returns false if the compiler fails.
  bool compile() {
    const std::vector<CompiledKernel> compiled = compile_kernels(missing_, instructions_);
    if (compiled.size() != missing_.size()) return false;
    libraries_.resize(functions_.size());
    auto next = compiled.begin();
    for (size_t i = 0; i < functions_.size(); ++i) {
      if (functions_[i] != nullptr) continue;
      functions_[i] = reinterpret_cast<LibraryFunction>(next->function);
      libraries_[i] = (next++)->library;
    }
    return true;
  }
  const KernelSource& source(size_t i) const { return sources_[i]; }
  kernels::GemmFunction function(size_t i) const { return reinterpret_cast<kernels::GemmFunction>(functions_[i]); }
  const std::shared_ptr<const void>& library(size_t i) const { return libraries_[i]; }

 private:
  void add(const GemmForm& form, int prebuilt_number, KernelSource source) {
    functions_.push_back(generates_all_ ? nullptr : prebuilt_function(prebuilt_number, form, instructions_));
    if (functions_.back() == nullptr) missing_.push_back(source);
    sources_.push_back(std::move(source));
  }
  /// Different epilogues may consist of the same operators.
  GemmSource with_own_name(const GemmForm& form) const {
    for (int other = 0;; ++other) {
      GemmSource source = multiplying_source(form, other);
      bool is_taken = false;
      for (size_t i = 0; i < multiplied_.size(); ++i)
        is_taken = is_taken || (sources_[2 * i + 1].name == source.name && !is_same_function(multiplied_[i], form));
      if (!is_taken) return source;
    }
  }
  static bool is_same_function(const GemmForm& a, const GemmForm& b) {
    return a.left == b.left && a.number == b.number && a.epilogue == b.epilogue;
  }

  const Instructions instructions_;
  const bool generates_all_;
  const PrebuiltForms prebuilt_;
  std::vector<GemmForm> multiplied_;  // sources 1, 3, 5, …
  std::vector<KernelSource> sources_, missing_;
  std::vector<LibraryFunction> functions_;              // by source
  std::vector<std::shared_ptr<const void>> libraries_;  // by source; null for prebuilt functions
};

}  // namespace

bool has_prebuilt_gemms() {
#if defined(FULGURITE_PREBUILT_GEMMS)
  return true;
#else
  return false;
#endif
}

bool has_gemm_instructions() { return best_instruction_set() >= InstructionSet::avx2; }

Instructions gemm_instructions() {
  Instructions instructions;
#if defined(__x86_64__)
  if (instructions.set == InstructionSet::avx512 && pair_products_are_fast())
    instructions.set = InstructionSet::avx512_bf16;
  instructions.has_amx = instructions.set == InstructionSet::avx512_bf16 && amx_is_usable();
#endif
  return instructions;
}

std::vector<CompiledGemm> compile_gemms(std::span<const GemmForm> forms, Instructions instructions,
                                        bool generates_all) {
  GemmFunctions functions(instructions, generates_all);
  for (const GemmForm& form : forms) {
    functions.add_packing(form);
    functions.add_multiplying(form);
  }
  if (!functions.compile()) return {};
  std::vector<CompiledGemm> out;
  for (size_t i = 0; i < forms.size(); ++i) {
    const KernelSource &packing = functions.source(2 * i), &multiplying = functions.source(2 * i + 1);
    CompiledGemm& gemm = out.emplace_back();
    gemm.pack = functions.function(2 * i);
    gemm.multiply = functions.function(2 * i + 1);
    gemm.unit = unit_of(forms[i], instructions);
    gemm.tiles = tiles_of(gemm.unit, instructions);
    gemm.text = packing.text + multiplying.text;
    gemm.pack_library = functions.library(2 * i);
    gemm.multiply_library = functions.library(2 * i + 1);
    gemm.pack_name = packing.name;
    gemm.multiply_name = multiplying.name;
  }
  return out;
}

}  // namespace fulgurite::codegen
