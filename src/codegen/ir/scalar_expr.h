#pragma once
#include <span>

#include "codegen/ir/scalar_op.h"
#include "ops/core/argument.h"
#include "support/containers/small_vector.h"

namespace fulgurite::codegen {

/// A node of an expression. Its operands are earlier nodes.
struct ScalarNode {
  ScalarOp op = ScalarOp::operand;
  Lanes type = Lanes::floats;  // of its value
  uint8_t operands[3] = {0, 0, 0};
  int64_t payload = 0;  // the index of an operand or a launch number; the bits of a constant: of a double, or whole

  friend bool operator==(const ScalarNode&, const ScalarNode&) = default;
};

/// A typed expression: the scalar function that computes a kernel value from its operands. Nodes are in postorder, so
/// that equal expressions have equal nodes.
class ScalarExpr {
 public:
  ScalarExpr() = default;
  explicit ScalarExpr(ScalarNode leaf) { nodes_.push_back(leaf); }

  bool empty() const { return nodes_.empty(); }
  std::span<const ScalarNode> nodes() const { return {nodes_.data(), nodes_.size()}; }
  const ScalarNode& root() const { return nodes_.back(); }
  Lanes type() const { return root().type; }
  /// Returns true if the root is this operation.
  bool is(ScalarOp op) const { return !empty() && root().op == op; }
  /// Returns true if any node is this operation.
  bool has(ScalarOp) const;
  /// Returns true for the operation applied to the operands 0, 1, …: exp(operand 0).
  bool is_plain(ScalarOp) const;
  size_t hash() const;
  /// Replaces one operation by another of the same signature in all nodes.
  void replace(ScalarOp from, ScalarOp to);
  /// The root's first operand as an expression of its own.
  ScalarExpr inner() const;

  friend bool operator==(const ScalarExpr& a, const ScalarExpr& b);

 private:
  friend ScalarExpr apply(ScalarOp, Lanes, std::span<const ScalarExpr* const>);
  friend ScalarExpr substituted(const ScalarExpr&, std::span<const ScalarExpr>);
  uint8_t append(const ScalarExpr&);

  SmallVector<ScalarNode, 4> nodes_;
};

/// An operation on expressions; throws InternalError if the operands do not have its signature.
ScalarExpr apply(ScalarOp, Lanes result, std::span<const ScalarExpr* const> operands);
/// Replaces the operands 0, 1, … of an expression by expressions of the same types.
ScalarExpr substituted(const ScalarExpr&, std::span<const ScalarExpr> operands);

/// Expressions without operands.
ScalarExpr operand(int index, Lanes);
ScalarExpr launch_number(int index, Lanes);
ScalarExpr column_index();
ScalarExpr column_count(Lanes);
/// A constant of the program, rounded or wrapped to the dtype.
ScalarExpr constant(const Argument& number, Dtype);
/// A whole number of this type.
ScalarExpr whole(int number, Lanes);
/// The value of a constant.
double floating_value(const ScalarNode&);

/// An operation on operands of its result's type, or a comparison.
ScalarExpr apply(ScalarOp, const ScalarExpr& a);
ScalarExpr apply(ScalarOp, const ScalarExpr& a, const ScalarExpr& b);
ScalarExpr multiply_add(const ScalarExpr& a, const ScalarExpr& b, const ScalarExpr& c);
ScalarExpr select(const ScalarExpr& mask, const ScalarExpr& a, const ScalarExpr& b);
ScalarExpr operator+(const ScalarExpr&, const ScalarExpr&);
ScalarExpr operator-(const ScalarExpr&, const ScalarExpr&);
ScalarExpr operator*(const ScalarExpr&, const ScalarExpr&);
ScalarExpr operator/(const ScalarExpr&, const ScalarExpr&);

inline bool is_half(Dtype dtype) { return dtype == Dtype::bf16 || dtype == Dtype::f16; }
/// A value of one dtype converted to another, as in C; includes the dtypes' own rounding.
ScalarExpr converted(const ScalarExpr&, Dtype from, Dtype to);
/// An f32 value rounded to a 16-bit floating dtype.
ScalarExpr rounded_to(const ScalarExpr&, Dtype);
/// Returns true if the expression's root rounds to bf16 or f16.
bool is_rounding(const ScalarExpr&);

}  // namespace fulgurite::codegen
