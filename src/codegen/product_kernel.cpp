#include "codegen/product_kernel.h"

#include "codegen/compile_kernels.h"
#include "codegen/matrix_unit.h"
#include "support/text.h"

namespace fulgurite::codegen {

namespace {

std::string_view element_text(Dtype dtype) { return dtype == Dtype::bf16 ? "BFloat16" : dtype == Dtype::f16 ? "Float16" : "float"; }

KernelSource source_of(std::string name, std::string body) {
  KernelSource source;
  source.text = text::cat("extern \"C\" void ", name, "(const ProductLaunch& launch, long first, long last) {\n", body, "}\n");
  source.plain_text = source.text;  // the name says what it is
  source.name = std::move(name);
  source.is_product = true;
  return source;
}

std::string as_number(Dtype dtype, const ProductForm& form) { return dtype == form.number ? "" : text::cat("_as_", form.number); }

KernelSource packing_source(const ProductForm& form) {
  return source_of(text::cat("pack_", form.right, as_number(form.right, form)),
                   text::cat("  pack_right<", element_text(form.right), ", ", element_text(form.number), ">(launch, first, last);\n"));
}

KernelSource multiplying_source(const ProductForm& form) {
  const std::string name = text::cat("multiply_", form.left, as_number(form.left, form), form.bias ? text::cat("_add_", *form.bias) : "", "_to_", form.result);
  std::string body = text::cat("  multiply_blocks<", element_text(form.left), ", ", element_text(form.number),
                               ">(launch, first, last, [&](const Floats& sums, const ResultPart& at) __attribute__((always_inline)) {\n");
  if (form.bias) body += text::cat("    const Floats bias = load(at.of<const ", element_text(*form.bias), ">(launch, 1), at);\n");
  body += text::cat("    store(at.of<", element_text(form.result), ">(launch, 0), at, sums", form.bias ? " + bias" : "",
                    ");\n  });\n");
  return source_of(name, body);
}

// As codegen/vector_product_units.h chooses them.
kernels::ProductTiles tiles_of(const ProductForm& form, Instructions instructions) {
  if (form.number == Dtype::bf16 && instructions.has_matrix_unit) return kernels::matrix_unit_tiles;
  if (form.number == Dtype::bf16 && instructions.set == InstructionSet::avx512_bf16) return kernels::pair_tiles;
  return instructions.set >= InstructionSet::avx512 ? kernels::wide_single_tiles : kernels::narrow_single_tiles;
}

// What such a source compiles to, whatever the compiler's list is made of.
kernels::ProductFunction product_function(kernels::KernelFunction compiled) {
  return reinterpret_cast<kernels::ProductFunction>(reinterpret_cast<void (*)()>(compiled));
}

}  // namespace

bool has_product_instructions() { return best_instruction_set() >= InstructionSet::avx2; }

Instructions product_instructions() {
  Instructions instructions;
#if defined(__x86_64__)
  if (instructions.set == InstructionSet::avx512 && __builtin_cpu_supports("avx512bf16")) instructions.set = InstructionSet::avx512_bf16;
  instructions.has_matrix_unit = instructions.set == InstructionSet::avx512_bf16 && matrix_unit_is_usable();
#endif
  return instructions;
}

std::vector<ProductKernels> compile_products(std::span<const ProductForm> forms, Instructions instructions) {
  std::vector<KernelSource> sources;
  for (const ProductForm& form : forms) {
    sources.push_back(packing_source(form));
    sources.push_back(multiplying_source(form));
  }
  const std::vector<kernels::KernelFunction> functions = compile_kernels(sources, instructions);
  std::vector<ProductKernels> out;
  for (size_t i = 0; i + 1 < functions.size(); i += 2) {
    ProductKernels& product = out.emplace_back();
    product.pack = product_function(functions[i]);
    product.multiply = product_function(functions[i + 1]);
    product.tiles = tiles_of(forms[i / 2], instructions);
    product.text = sources[i].text + sources[i + 1].text;
    product.pack_name = sources[i].name;
    product.multiply_name = sources[i + 1].name;
  }
  return out;
}

}  // namespace fulgurite::codegen
