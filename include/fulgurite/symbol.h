#pragma once
#include <fulgurite/detail/requirements.h>

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include <fulgurite/scalar_formula.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

class Argument;
class Gradient;
class InferredTypes;
class Results;
struct BoundSymbol;
struct SourceLocation;
struct ViewGeometry;
class Tensor;
class Value;

/// One parameter of an operator, as its signature spells it.
struct Parameter {
  enum class Type : uint8_t {
    tensor,
    operand,
    tensors,
    integer,
    integers,
    floating,
    floatings,
    boolean,
    string,
    padding,
    dtype,
    device,
    indices
  };
  std::string_view name{};
  Type type = Type::tensor;
  bool optional = false;            // "Tensor?": none is allowed
  bool optional_elements = false;   // "Tensor?[]": elements of the list may be none
  bool keyword_only = false;        // after "*" in the signature
  std::string_view default_text{};  // "" if the argument is required
};

/// The parsed form of "torch.sum(Tensor input, int[]? dim=None, bool keepdim=False, *, Dtype? dtype=None) -> Tensor".
/// Parameter types: Tensor, Operand (a tensor or a number), Tensor[], Tensor?[], int, int[], float, float[], bool, str,
/// Padding (int[] or str), Dtype, Device, Index[]; `?` after a type allows None. Results: Tensor, Tensor[], or (Tensor,
/// Tensor, …). A malformed signature does not compile.
struct Signature {
  static constexpr int max_parameters = 16;
  static constexpr int list = -1;
  std::string_view text;
  std::string_view qualified_name;  // "torch.nn.functional.gelu"
  std::string_view name;            // "gelu"
  std::array<Parameter, max_parameters> parameters{};
  int parameter_count = 0;
  int result_count = 1;  // Signature::list for Tensor[]

  template <size_t N>
  consteval Signature(const char (&spelling)[N]) : Signature(std::string_view(spelling, N - 1)) {}
  /// For operators made at run time; the text must outlive the signature. Throws a const char* that describes the
  /// error.
  constexpr explicit Signature(std::string_view spelling);

  std::span<const Parameter> params() const { return {parameters.data(), static_cast<size_t>(parameter_count)}; }
};

/// State outside of its results that a call reads or changes.
enum class Effect : uint8_t {
  none,
  random,      // advances the generator of random numbers
  memory,      // writes into memory that other calls may read
  io,          // acts on the world outside: prints, counts, sends
  collective,  // exchanges data with the other members of a group, its argument of the name "group"
};
/// A set of effects: `Effect::io`, `Effect::memory | Effect::io`. Passes keep a call with an effect although its
/// results are unused, and neither merge nor repeat it. Calls that share an effect stay in order; calls of unlike
/// effects, and collectives of unlike groups, may change places.
class Effects {
 public:
  constexpr Effects() = default;
  constexpr Effects(Effect effect) : bits_(bit(effect)) {}
  /// Every effect: what a call of unknown code may do.
  static constexpr Effects all() {
    Effects effects;
    effects.bits_ = bit(Effect::random) | bit(Effect::memory) | bit(Effect::io) | bit(Effect::collective);
    return effects;
  }
  constexpr bool has(Effect effect) const { return (bits_ & bit(effect)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  friend constexpr Effects operator|(Effects a, Effects b) {
    a.bits_ |= b.bits_;
    return a;
  }
  friend constexpr bool operator==(Effects, Effects) = default;

 private:
  static constexpr uint8_t bit(Effect effect) {
    return effect == Effect::none ? 0 : static_cast<uint8_t>(1U << static_cast<unsigned>(effect));
  }
  uint8_t bits_ = 0;
};
constexpr Effects operator|(Effect a, Effect b) { return Effects(a) | Effects(b); }

/// Properties of an operator, besides its rules.
struct Traits {
  bool pointwise = false;  // each result element depends only on the broadcast elements of the operands
  bool reduction = false;
  bool view = false;                          // the result shares the first tensor's storage if strides allow
  Effects effects{};                          // none: calls may be eliminated, merged and repeated
  bool random = effects.has(Effect::random);  // deprecated, until 0.3: `effects = Effect::random`
  /// There is a name_() that writes the result into the first tensor; pointwise operators all have one.
  bool has_in_place_form = false;
  /// Deprecated, until 0.3: `effects = Effect::memory | Effect::io`.
  bool side_effect = effects.has(Effect::memory) || effects.has(Effect::io);
  bool not_differentiable = false;    // no result can carry a gradient
  bool always_differentiate = false;  // its gradient rule runs even if no argument requires one
  bool matmul = false;                // never recomputed unless tagged
  bool structural = false;            // belongs to the trace itself: return, del, unpack, …
};

/// The part that a symbol has in traces.
enum class SymbolKind : uint8_t {
  operation,            // computes values or checks a guard: passes read its traits
  custom_function,      // a user's function with a backward of its own
  returning,            // ends a trace
  deletion,             // ends the life of values
  unpacking,            // reads the items of a collection
  clearing,             // empties a collection
  writing,              // writes its first argument into the memory of its second
  reading_gradient,     // reads the cotangent of a result
  adding_gradient,      // adds to the cotangent of a value
  once_differentiable,  // refuses a second derivative
  refusing_gradient,    // fails
  reading_shape,        // reads the sizes of a tensor
  indexing,             // x[i, …]
  note,                 // text
};

/// The result of an operator as a function of its operands, with other arguments fixed and rounding aside.
enum class Linearity : uint8_t {
  unknown,
  first,       // linear in the first operand
  sum,         // the first operand plus a multiple of the second
  difference,  // the first operand minus a multiple of the second
  product      // linear in the first operand, and linear in the second
};
/// The way in which a reduction combines the elements of its first operand.
enum class Reduction : uint8_t { other, sum, mean, largest, smallest, variance };
/// The elements of a new tensor that are all equal: 0, or the second argument.
enum class Fill : uint8_t { none, zero, second_argument };
/// A product of two matrices: a b, or a bᵀ plus an optional third operand.
enum class MatrixProduct : uint8_t { none, plain, transposed };
/// The dtype that autocast converts operands to: its own, f32, or the widest of theirs. Operators with `inside` run
/// their decomposition without autocast.
enum class AutocastPolicy : uint8_t { none, narrow, wide, widest, inside };

/// Facts about an operator of the library that passes, the code generator and the runtime rely on.
struct Semantics {
  Linearity linearity = Linearity::unknown;
  Reduction reduction = Reduction::other;
  Fill fill = Fill::none;
  MatrixProduct matrix_product = MatrixProduct::none;
  AutocastPolicy autocast = AutocastPolicy::none;
  bool exact = false;               // elements are the first operand's up to sign or 0: nothing is rounded
  bool equality = false;            // compares elements for equality
  bool conversion = false;          // the first operand's elements in another dtype
  bool copy = false;                // a new tensor with the first operand's elements
  bool concatenation = false;       // the operands one after another along a dimension
  bool broadcast = false;           // a view that repeats elements along new dimensions and those of size 1
  bool keeps_order = false;         // a view whose elements have the first operand's order
  bool may_copy = false;            // a view for some strides of the first operand, else a copy
  bool never_copies = false;        // a view whatever its decomposition
  bool scatter_update = false;      // the first operand with other elements at some indices
  bool elementwise_update = false;  // each result element depends on the operands' elements at its index
  bool class_loss = false;          // a loss that reads one element of each row, or its cotangent
  bool dequantization = false;      // the numbers that codes of few bits and their scales stand for
  bool last_edge_first = false;     // autograd visits its last operand first, as PyTorch does
  int8_t table = -1;                // the operand of which only the elements at indices are read
};

/// Value ranges for tests: arguments in the domain of the rules.
struct Samples {
  double low = -2, high = 2;
};

/// The functions of an operator's record: result types, decomposition, gradient, strides of a view, and write through a
/// view.
using InferRule = void (*)(std::span<const Argument>, InferredTypes&);
using DecomposeRule = void (*)(std::span<const Argument>, Results&, SourceLocation);
using GradientRule = void (*)(Gradient&);
using ViewRule = bool (*)(std::span<const Argument>, ViewGeometry&);
using WriteRule = Tensor (*)(std::span<const Argument>, const Tensor& value, SourceLocation);
/// Makes `op` add to `sum` what a call with these arguments adds to zeros; returns false if no op does.
using AccumulateRule = bool (*)(std::span<const Value> arguments, const Value& sum, BoundSymbol& op);
/// The floating-point operations of an op.
using CostRule = int64_t (*)(const BoundSymbol&);

/// An operator. Declared once, as one constant record, in the file of its family under src/ops/.
struct Symbol {
  Signature signature;
  std::string_view documentation{};
  /// Infers result shapes and dtypes and checks the arguments. Without one, the decomposition's results define them.
  InferRule infer = nullptr;
  /// The operator in terms of others; without one it is a primitive.
  DecomposeRule decompose = nullptr;
  /// The cotangents of its tensor arguments from those of its results; without one the decomposition is differentiated.
  GradientRule gradient = nullptr;
  /// For views: computes strides and offset; returns false if a copy is required.
  ViewRule view = nullptr;
  /// For views: the first argument after `value` has been written through the view.
  WriteRule write = nullptr;
  /// For ops that add to elements at indices: the same into another tensor.
  AccumulateRule accumulate = nullptr;
  /// Without one an op has one operation for each element of its results, a reduction one for each of its operand.
  CostRule cost = nullptr;
  /// For pointwise operators: an element of the result, as generated kernels compute it. Without one they compute the
  /// decomposition.
  ScalarRule scalar{};
  /// The Python form if it is not "qualified name(arguments)": "{0}.to({1})"; and a definition that it needs above the
  /// function.
  std::string_view python{}, python_definition{};
  SymbolKind kind = SymbolKind::operation;
  Traits traits{};
  Semantics semantics{};
  Samples samples{};

  std::string_view name() const { return signature.name; }
  std::string_view qualified_name() const { return signature.qualified_name; }
  bool is_primitive() const { return decompose == nullptr; }
};

/// Every operator.
const std::vector<const Symbol*>& symbols();
/// Finds an operator by "sum", "nn.functional.gelu", "torch.sum" or "prims.add"; null if there is none.
const Symbol* find_symbol(std::string_view name);

namespace detail {

struct SignatureReader {
  std::string_view text;
  size_t at = 0;

  constexpr void skip_spaces() {
    while (at < text.size() && text[at] == ' ') ++at;
  }
  constexpr bool take(std::string_view word) {
    skip_spaces();
    if (text.substr(at, word.size()) != word) return false;
    at += word.size();
    return true;
  }
  constexpr std::string_view identifier() {
    skip_spaces();
    const size_t start = at;
    while (at < text.size() &&
           (text[at] == '_' || text[at] == '.' || text[at] == ':' || (text[at] >= '0' && text[at] <= '9') ||
            (text[at] >= 'a' && text[at] <= 'z') || (text[at] >= 'A' && text[at] <= 'Z')))
      ++at;
    if (at == start) throw "a name is missing";
    return text.substr(start, at - start);
  }
  constexpr std::string_view default_value() {
    skip_spaces();
    const size_t start = at;
    int depth = 0;
    while (at < text.size() && (depth > 0 || (text[at] != ',' && text[at] != ')'))) {
      if (text[at] == '[' || text[at] == '(') ++depth;
      if (text[at] == ']' || text[at] == ')') --depth;
      ++at;
    }
    return text.substr(start, at - start);
  }
  constexpr Parameter::Type type() {
    using Type = Parameter::Type;
    constexpr std::pair<std::string_view, Type> types[] = {
        {"Tensor[]", Type::tensors}, {"Tensor", Type::tensor}, {"Operand", Type::operand},
        {"int[]", Type::integers},   {"int", Type::integer},   {"float[]", Type::floatings},
        {"float", Type::floating},   {"bool", Type::boolean},  {"str", Type::string},
        {"Padding", Type::padding},  {"Dtype", Type::dtype},   {"Device", Type::device},
        {"Index[]", Type::indices}};
    for (const auto& [spelling, type] : types)
      if (take(spelling)) return type;
    throw "a parameter's type is not one of Tensor, Operand, Tensor[], Tensor?[], int, int[], float, float[], bool, "
          "str, Padding, Dtype, Device, Index[]";
  }
};

}  // namespace detail

constexpr Signature::Signature(std::string_view spelling) : text(spelling) {
  detail::SignatureReader reader{spelling};
  qualified_name = reader.identifier();
  const size_t dot = qualified_name.find_last_of(".:");
  name = dot == std::string_view::npos ? qualified_name : qualified_name.substr(dot + 1);
  if (!reader.take("(")) throw "'(' is missing after the name";
  bool keyword_only = false;
  while (!reader.take(")")) {
    if (parameter_count > 0 || keyword_only)
      if (!reader.take(",")) throw "',' or ')' is missing after a parameter";
    if (reader.take("*")) {
      keyword_only = true;
      continue;
    }
    if (parameter_count == max_parameters) throw "too many parameters";
    Parameter& p = parameters[parameter_count++];
    p.optional_elements = reader.take("Tensor?[]");
    p.type = p.optional_elements ? Parameter::Type::tensors : reader.type();
    p.optional = reader.take("?");
    p.name = reader.identifier();
    p.keyword_only = keyword_only;
    if (reader.take("=")) p.default_text = reader.default_value();
  }
  if (!reader.take("->")) throw "'->' is missing";
  if (reader.take("Tensor[]")) result_count = list;
  else if (reader.take("Tensor")) result_count = 1;
  else if (reader.take("()")) result_count = 0;
  else if (reader.take("(")) {
    result_count = 0;
    do {
      if (!reader.take("Tensor")) throw "results are Tensor, Tensor[] or (Tensor, Tensor)";
      ++result_count;
    } while (reader.take(","));
    if (!reader.take(")")) throw "')' is missing after the results";
  } else {
    throw "results are Tensor, Tensor[] or (Tensor, Tensor)";
  }
  if (reader.at != spelling.size()) throw "text is left over after the results";
}

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
