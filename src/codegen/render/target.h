#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "codegen/ir/kernel.h"

// Printing of kernel expressions in a target's language.
namespace fulgurite::codegen {

/// The spelling of an operation: the name of a function, or an operator.
struct Spelling {
  enum class Form : uint8_t { call, prefix, product, sum, comparison, bits };  // infix operators by precedence
  std::string_view text;
  Form form = Form::call;
};

/// A target's language: one table from operations to spellings, and its constants.
struct Target {
  /// `operand_type` is the type of the node's last operand: the type that is compared, or converted from.
  Spelling (*spelling)(const ScalarNode&, Lanes operand_type);
  /// A node without operands. If `is_typed`, the language must see its type: it is a complete expression, or selected.
  std::string (*leaf)(const ScalarNode&, bool is_typed);
};

/// An expression as text; `name` gives the texts of its operands.
using OperandName = std::function<const std::string&(int operand)>;
std::string render(const ScalarExpr&, const Target&, const OperandName& name);

/// The shortest text that reads back equal, with a point: "0.5f", "infinity", "not_a_number".
std::string floating_literal(const ScalarNode& constant);
/// A whole number of 32 or 64 bits: "7".
std::string whole_literal(const ScalarNode& constant);

/// Names of the kernel's values that differ: v0, v1, … if `plain`, else those of the trace; `is_taken` has names of the
/// target that they would shadow.
std::vector<std::string> value_names(const Kernel&, bool plain, bool (*is_taken)(std::string_view));

/// The type of an element in memory, in C++ targets: "BFloat16".
std::string_view element_text(Dtype);
/// The type of one element in a kernel: "float".
std::string_view lane_text(Lanes);

}  // namespace fulgurite::codegen
