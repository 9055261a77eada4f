#include <algorithm>

#include "codegen/host_compiler/kernel_header.h"
#include "codegen/render/vector_target.h"
#include "support/text/text.h"

namespace fulgurite::codegen {

namespace {

class VectorEpiloguePrinter {
 public:
  explicit VectorEpiloguePrinter(const GemmEpilogue& epilogue) : epilogue_(epilogue) {
    for (const EpilogueValue& value : epilogue.values) names_.push_back(free_name(value.name));
  }

  std::vector<std::string> print() const {
    std::vector<std::string> statements;
    for (size_t i = 0; i < names_.size(); ++i) statements.push_back(definition(i));
    for (size_t i = 0; i < epilogue_.stores.size(); ++i) statements.push_back(store(i));
    return statements;
  }

 private:
  // Avoids names of the kernel header, which the value would shadow.
  std::string free_name(std::string_view wanted) const {
    static constexpr std::string_view parameters[] = {"sums", "at", "launch", "first", "last"};
    const auto is_taken = [&](const std::string& name) {
      return std::ranges::find(parameters, name) != std::end(parameters) || is_name_of_header(name) ||
             std::ranges::find(names_, name) != names_.end();
    };
    std::string name(wanted);
    for (int more = 2; is_taken(name); ++more)
      name = is_name_of_header(wanted) && more == 2 ? text::cat(wanted, "_") : text::cat(wanted, "_", more);
    return name;
  }

  const std::string& name(int i) const { return i == gemm_sums ? sums_ : names_[static_cast<size_t>(i)]; }

  std::string expression(const ScalarExpr& of, const SmallVector<int, 4>& values) const {
    return render(of, vector_target, [&](int k) -> const std::string& { return name(values[static_cast<size_t>(k)]); });
  }

  std::string definition(size_t i) const {
    const EpilogueValue& value = epilogue_.values[i];
    return text::cat("const ", lanes_text(value.lanes), " ", names_[i], " = ",
                     value.operand < 0 ? expression(value.expression, value.values) : loaded(value), ";");
  }
  std::string loaded(const EpilogueValue& value) const {
    const auto operand = static_cast<size_t>(value.operand);
    const std::string element = text::cat("load(at.of<const ", element_text(epilogue_.operands[operand].dtype),
                                          ">(launch, ", epilogue_.results.size() + operand, "), at)");
    return render(value.expression, vector_target, [&](int) -> const std::string& { return element; });
  }
  std::string store(size_t result) const {
    const EpilogueStore& stored = epilogue_.stores[result];
    return text::cat("store(at.of<", element_text(epilogue_.results[result]), ">(launch, ", result, "), at, ",
                     expression(stored.expression, stored.values), ");");
  }

  const GemmEpilogue& epilogue_;
  const std::string sums_ = "sums";
  std::vector<std::string> names_;  // by value
};

}  // namespace

std::vector<std::string> vector_epilogue(const GemmEpilogue& epilogue) {
  return VectorEpiloguePrinter(epilogue).print();
}

HeaderParts header_parts(const GemmEpilogue& epilogue) {
  HeaderParts all;
  for (const EpilogueValue& value : epilogue.values) {
    const HeaderParts parts = header_parts(value.expression);
    all.is_wide = all.is_wide || parts.is_wide;
    all.has_angles = all.has_angles || parts.has_angles;
  }
  return all;
}

}  // namespace fulgurite::codegen
