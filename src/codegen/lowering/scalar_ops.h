#pragma once
#include <optional>
#include <string>

#include "codegen/lowering/kernel.h"
#include "ops/core/argument.h"

namespace fulgurite::codegen {

/// A pointwise operator as an expression of lanes.
struct Expression {
  std::string text;               // {k}: argument k of the call
  SmallVector<int, 4> arguments;  // the arguments that it reads
  Dtype read = Dtype::f32;        // the dtype they are converted to
  Dtype computed = Dtype::f32;    // the dtype of the text's value, before it is converted to the result's
  bool is_costly = false;
  bool is_exact = false;  // maps numbers of a 16-bit dtype to numbers of that dtype
  int condition = -1;     // for a selection: the argument that selects
};
/// None if there is no expression for this call. `arguments` are in the order of the signature.
std::optional<Expression> expression_of(const Symbol&, Arguments arguments, Dtype result);

/// `text` of one dtype's lanes converted to another's, as in C; includes the dtypes' own rounding.
std::string converted(const std::string& text, Dtype from, Dtype to);
/// `text`, floats, rounded to a 16-bit dtype.
std::string rounded_text(const std::string& text, Dtype);
inline bool is_half(Dtype dtype) { return dtype == Dtype::bf16 || dtype == Dtype::f16; }
/// A number as a literal of this dtype's lanes: "0.5f".
std::string literal(const Argument& number, Dtype dtype);

}  // namespace fulgurite::codegen
