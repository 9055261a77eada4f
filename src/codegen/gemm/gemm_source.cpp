#include "codegen/gemm/gemm_source.h"

#include <algorithm>

#include "codegen/ir/print_kernel.h"
#include "codegen/render/scalar_target.h"
#include "codegen/render/vector_target.h"
#include "support/text/text.h"

namespace fulgurite::codegen {

namespace {

std::string as_number(Dtype dtype, const GemmForm& form) {
  return dtype == form.number ? "" : text::cat("_as_", form.number);
}

// "bf16", "f32_bf16", "2_bf16".
std::string results_name(const std::vector<Dtype>& results) {
  const bool is_uniform = std::ranges::all_of(results, [&](Dtype dtype) { return dtype == results[0]; });
  if (is_uniform && results.size() > 1) return text::cat(results.size(), "_", results[0]);
  return text::join(
      results, [](Dtype dtype) { return name(dtype); }, "_");
}

}  // namespace

std::string GemmSource::text(std::string_view linkage) const {
  return text::cat(linkage, " void ", name, "(const GemmLaunch& launch, long first, long last) {\n", body, "}\n");
}

GemmSource packing_source(const GemmForm& form) {
  return {text::cat("pack_", form.right, as_number(form.right, form)),
          text::cat("  pack_right<", element_text(form.right), ", ", element_text(form.number),
                    ">(launch, first, last);\n")};
}

GemmSource multiplying_source(const GemmForm& form, int other) {
  const GemmEpilogue& epilogue = form.epilogue;
  GemmSource source;
  source.name =
      text::cat("multiply_", form.left, as_number(form.left, form), epilogue.name.empty() ? "" : "_", epilogue.name,
                "_to_", results_name(epilogue.results), other == 0 ? std::string() : text::cat("_", other + 1));
  source.body = text::cat(
      "  multiply_blocks<", element_text(form.left), ", ", element_text(form.number),
      ">(launch, first, last, [&](const Floats& sums, const ResultPart& at) __attribute__((always_inline)) {\n");
  for (const std::string& statement : vector_epilogue(epilogue)) source.body += text::cat("    ", statement, "\n");
  source.body += "  });\n";
  return source;
}

GemmSource scalar_source(const GemmForm& form, GemmUnit unit, std::string name) {
  static constexpr std::string_view functions[] = {"sum_of_products", "sum_of_pairs", "sum_of_tiles"};
  GemmSource source{std::move(name),
                    "  for (long row = first; row < last; ++row)\n"
                    "    for (long column = 0; column < launch.right.rows; ++column) {\n"};
  source.body += text::cat("      const float sum = ", functions[static_cast<int>(unit)], "<", element_text(form.left),
                           ", ", element_text(form.right),
                           unit == GemmUnit::elements ? text::cat(", ", element_text(form.number)) : std::string(),
                           ">(launch, row, column);\n");
  for (const std::string& statement : scalar_epilogue(form.epilogue, unit != GemmUnit::elements))
    source.body += text::cat("      ", statement, "\n");
  source.body += "    }\n";
  return source;
}

std::string gemm_ir_text(const GemmForm& form, GemmUnit unit) {
  static constexpr std::string_view orders[] = {"product after product along K",
                                                "pairs along K, the second product of each first",
                                                "32 products at a time along K, even and odd ones apart"};
  const auto operand = [&](Dtype dtype) {
    return dtype == form.number ? text::cat(dtype, "\n") : text::cat(dtype, ", rounded to ", form.number, "\n");
  };
  return text::cat("left: ", operand(form.left), "right: ", operand(form.right),
                   "sums: ", orders[static_cast<int>(unit)], "\n", epilogue_text(form.epilogue));
}

}  // namespace fulgurite::codegen
