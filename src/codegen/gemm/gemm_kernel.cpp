#include "codegen/gemm/gemm_kernel.h"

#include <algorithm>

#include "codegen/gemm/amx.h"
#include "codegen/host_compiler/compile_kernels.h"
#include "codegen/prebuilt_gemm/prebuilt_kernel.h"
#include "codegen/render/vector_target.h"
#include "support/text/text.h"

namespace fulgurite::codegen {

namespace {

KernelSource source_of(std::string name, std::string body) {
  KernelSource source;
  source.text =
      text::cat("extern \"C\" void ", name, "(const GemmLaunch& launch, long first, long last) {\n", body, "}\n");
  source.plain_text = source.text;  // the name identifies it
  source.name = std::move(name);
  source.is_gemm = true;
  return source;
}

std::string as_number(Dtype dtype, const GemmForm& form) {
  return dtype == form.number ? "" : text::cat("_as_", form.number);
}

KernelSource packing_source(const GemmForm& form) {
  return source_of(text::cat("pack_", form.right, as_number(form.right, form)),
                   text::cat("  pack_right<", element_text(form.right), ", ", element_text(form.number),
                             ">(launch, first, last);\n"));
}

// `other` makes the name unique if another function of the trace has it.
KernelSource multiplying_source(const GemmForm& form, int other) {
  const GemmEpilogue& epilogue = form.epilogue;
  const bool is_uniform =
      std::ranges::all_of(epilogue.results, [&](Dtype dtype) { return dtype == epilogue.results[0]; });
  const std::string results = is_uniform && epilogue.results.size() > 1
                                  ? text::cat(epilogue.results.size(), "_", epilogue.results[0])
                                  : text::join(
                                        epilogue.results, [](Dtype dtype) { return name(dtype); }, "_");
  const std::string function =
      text::cat("multiply_", form.left, as_number(form.left, form), epilogue.name.empty() ? "" : "_", epilogue.name,
                "_to_", results, other == 0 ? std::string() : text::cat("_", other + 1));
  std::string body = text::cat(
      "  multiply_blocks<", element_text(form.left), ", ", element_text(form.number),
      ">(launch, first, last, [&](const Floats& sums, const ResultPart& at) __attribute__((always_inline)) {\n");
  for (const std::string& statement : vector_epilogue(epilogue)) body += text::cat("    ", statement, "\n");
  KernelSource source = source_of(function, body + "  });\n");
  source.has_angles = header_parts(epilogue).has_angles;
  return source;
}

// The tiles that codegen/device_lib/gemm_units.h chooses.
kernels::GemmTiles tiles_of(const GemmForm& form, Instructions instructions) {
  if (form.number == Dtype::bf16 && instructions.has_amx) return kernels::amx_tiles;
  if (form.number == Dtype::bf16 && instructions.set == InstructionSet::avx512_bf16) return kernels::pair_tiles;
  return instructions.set >= InstructionSet::avx512 ? kernels::wide_single_tiles : kernels::narrow_single_tiles;
}

// The prebuilt function, if it has been compiled for these instructions.
LibraryFunction library_function([[maybe_unused]] const std::string& name,
                                 [[maybe_unused]] const std::vector<std::string>& statements,
                                 [[maybe_unused]] const GemmForm& form, [[maybe_unused]] Instructions instructions) {
#if defined(FULGURITE_LIBRARY_PRODUCTS)
  const std::string text = text::join(
      statements, [](const std::string& statement) { return statement; }, " ");
  const auto find = [&](auto library_product) { return library_product(name.c_str(), text.c_str()); };
  const bool has_bf16_dot = form.number == Dtype::bf16 && instructions.set == InstructionSet::avx512_bf16;
  if (form.number == Dtype::bf16 && instructions.has_amx)
    return has_bf16_dot ? find(products_amx::library_product) : nullptr;
  if (has_bf16_dot) return find(products_avx512_bf16::library_product);
  if (instructions.set >= InstructionSet::avx512) return find(products_avx512::library_product);
  if (instructions.set == InstructionSet::avx2) return find(products_avx2::library_product);
#endif
  return nullptr;
}

/// Compiled GEMM kernels by their sources.
class GemmFunctions {
 public:
  GemmFunctions(Instructions instructions, bool generates_all)
      : instructions_(instructions), generates_all_(generates_all) {}

  void add(KernelSource source, const std::vector<std::string>& statements, const GemmForm& form) {
    functions_.push_back(generates_all_ ? nullptr : library_function(source.name, statements, form, instructions_));
    if (functions_.back() == nullptr) missing_.push_back(source);
    sources_.push_back(std::move(source));
  }
  /// The multiplying function under a unique name: different epilogues may consist of the same operators.
  KernelSource with_own_name(const GemmForm& form) const {
    for (int other = 0;; ++other) {
      KernelSource source = multiplying_source(form, other);
      const auto is_another = [&](const KernelSource& known) {
        return known.name == source.name && known.text != source.text;
      };
      if (std::ranges::none_of(sources_, is_another)) return source;
    }
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
  const Instructions instructions_;
  const bool generates_all_;
  std::vector<KernelSource> sources_, missing_;
  std::vector<LibraryFunction> functions_;              // by source
  std::vector<std::shared_ptr<const void>> libraries_;  // by source; null for prebuilt functions
};

}  // namespace

bool has_prebuilt_gemms() {
#if defined(FULGURITE_LIBRARY_PRODUCTS)
  return true;
#else
  return false;
#endif
}

bool has_gemm_instructions() { return best_instruction_set() >= InstructionSet::avx2; }

Instructions gemm_instructions() {
  Instructions instructions;
#if defined(__x86_64__)
  if (instructions.set == InstructionSet::avx512 && __builtin_cpu_supports("avx512bf16"))
    instructions.set = InstructionSet::avx512_bf16;
  instructions.has_amx = instructions.set == InstructionSet::avx512_bf16 && amx_is_usable();
#endif
  return instructions;
}

std::vector<CompiledGemm> compile_gemms(std::span<const GemmForm> forms, Instructions instructions,
                                        bool generates_all) {
  GemmFunctions functions(instructions, generates_all);
  for (const GemmForm& form : forms) {
    functions.add(packing_source(form), {}, form);
    functions.add(functions.with_own_name(form), vector_epilogue(form.epilogue), form);
  }
  if (!functions.compile()) return {};
  std::vector<CompiledGemm> out;
  for (size_t i = 0; i < forms.size(); ++i) {
    const KernelSource &packing = functions.source(2 * i), &multiplying = functions.source(2 * i + 1);
    CompiledGemm& product = out.emplace_back();
    product.pack = functions.function(2 * i);
    product.multiply = functions.function(2 * i + 1);
    product.tiles = tiles_of(forms[i], instructions);
    product.text = packing.text + multiplying.text;
    product.pack_library = functions.library(2 * i);
    product.multiply_library = functions.library(2 * i + 1);
    product.pack_name = packing.name;
    product.multiply_name = multiplying.name;
  }
  return out;
}

}  // namespace fulgurite::codegen
