#include <algorithm>
#include <span>

#include "codegen/host_compiler/kernel_header.h"
#include "codegen/render/scalar_target.h"
#include "codegen/render/vector_target.h"
#include "support/text/text.h"

namespace fulgurite::codegen {

namespace {

/// An epilogue's statements in a target's language.
struct EpilogueTarget {
  const Target& target;
  std::string_view sums;
  std::span<const std::string_view> locals;  // names that a value's would shadow, beside those of the header
  bool (*is_name_of_header)(std::string_view);
  std::string_view (*type_text)(Lanes);
  std::string (*load)(std::string_view element, size_t matrix);
  std::string (*store)(std::string_view element, size_t matrix, const std::string& value);
};

class EpiloguePrinter {
 public:
  EpiloguePrinter(const GemmEpilogue& epilogue, const EpilogueTarget& to)
      : epilogue_(epilogue), to_(to), sums_(to.sums) {
    for (const EpilogueValue& value : epilogue.values) names_.push_back(free_name(value.name));
  }

  std::vector<std::string> print() const {
    std::vector<std::string> statements;
    for (size_t i = 0; i < names_.size(); ++i) statements.push_back(definition(i));
    for (size_t i = 0; i < epilogue_.stores.size(); ++i) statements.push_back(store(i));
    return statements;
  }

 private:
  std::string free_name(std::string_view wanted) const {
    const auto is_taken = [&](const std::string& name) {
      return std::ranges::find(to_.locals, name) != to_.locals.end() || to_.is_name_of_header(name) ||
             std::ranges::find(names_, name) != names_.end();
    };
    std::string name(wanted);
    for (int more = 2; is_taken(name); ++more)
      name = to_.is_name_of_header(wanted) && more == 2 ? text::cat(wanted, "_") : text::cat(wanted, "_", more);
    return name;
  }

  const std::string& name(int i) const { return i == gemm_sums ? sums_ : names_[static_cast<size_t>(i)]; }

  std::string expression(const ScalarExpr& of, const SmallVector<int, 4>& values) const {
    return render(of, to_.target, [&](int k) -> const std::string& { return name(values[static_cast<size_t>(k)]); });
  }

  std::string definition(size_t i) const {
    const EpilogueValue& value = epilogue_.values[i];
    return text::cat("const ", to_.type_text(value.lanes), " ", names_[i], " = ",
                     value.operand < 0 ? expression(value.expression, value.values) : loaded(value), ";");
  }
  std::string loaded(const EpilogueValue& value) const {
    const auto operand = static_cast<size_t>(value.operand);
    const std::string element =
        to_.load(element_text(epilogue_.operands[operand].dtype), epilogue_.results.size() + operand);
    return render(value.expression, to_.target, [&](int) -> const std::string& { return element; });
  }
  std::string store(size_t result) const {
    const EpilogueStore& stored = epilogue_.stores[result];
    return to_.store(element_text(epilogue_.results[result]), result, expression(stored.expression, stored.values));
  }

  const GemmEpilogue& epilogue_;
  const EpilogueTarget& to_;
  const std::string sums_;
  std::vector<std::string> names_;  // by value
};

constexpr std::string_view vector_locals[] = {"sums", "at", "launch", "first", "last"};
constexpr EpilogueTarget vectors{vector_target,
                                 "sums",
                                 vector_locals,
                                 is_name_of_header,
                                 lanes_text,
                                 [](std::string_view element, size_t matrix) {
                                   return text::cat("load(at.of<const ", element, ">(launch, ", matrix, "), at)");
                                 },
                                 [](std::string_view element, size_t matrix, const std::string& value) {
                                   return text::cat("store(at.of<", element, ">(launch, ", matrix, "), at, ", value,
                                                    ");");
                                 }};

constexpr std::string_view scalar_locals[] = {"sum", "row", "column", "launch", "first", "last"};
std::string scalar_load(std::string_view element, size_t matrix) {
  return text::cat("load_element(matrix_row<const ", element, ">(launch, ", matrix, ", row) + column)");
}
std::string scalar_store(std::string_view element, size_t matrix, const std::string& value) {
  return text::cat("store_element(matrix_row<", element, ">(launch, ", matrix, ", row) + column, ", value, ");");
}
std::string flushing_store(std::string_view element, size_t matrix, const std::string& value) {
  const bool is_bf16 = element == element_text(Dtype::bf16);
  return scalar_store(element, matrix, is_bf16 ? text::cat("without_subnormals(", value, ")") : value);
}
constexpr EpilogueTarget scalars(bool flushes_bf16) {
  return {scalar_target,
          "sum",
          scalar_locals,
          is_name_of_scalar_header,
          scalar_type_text,
          scalar_load,
          flushes_bf16 ? flushing_store : scalar_store};
}

}  // namespace

std::vector<std::string> vector_epilogue(const GemmEpilogue& epilogue) {
  return EpiloguePrinter(epilogue, vectors).print();
}

std::vector<std::string> scalar_epilogue(const GemmEpilogue& epilogue, bool flushes_bf16) {
  const EpilogueTarget target = scalars(flushes_bf16);
  return EpiloguePrinter(epilogue, target).print();
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
