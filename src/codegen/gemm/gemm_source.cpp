#include "codegen/gemm/gemm_source.h"

#include <algorithm>

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

}  // namespace fulgurite::codegen
