#pragma once
#include <fulgurite/symbol.h>
#include <fulgurite/trace.h>

#include "ops/core/argument.h"
#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

/// The type that a shape rule infers for a result.
struct TensorType {
  Shape shape;
  Dtype dtype = Dtype::f32;
  Device device;
};
class InferredTypes : public SmallVector<TensorType, 2> {};
class Results : public SmallVector<Tensor, 3> {};

/// Strides, in elements, and offset in the storage of a view.
struct ViewGeometry {
  Sizes sizes, strides;
  int64_t offset = 0;
};

/// Thrown by rules; dispatch adds the operator, its operands and the user's line, and throws a UserError.
struct RuleError {
  std::string message;
};
/// Fails a rule with a message unless `condition` holds: require(a == b, "sizes differ: ", a, " and ", b).
template <class... Parts>
void require(bool condition, const Parts&... parts) {
  if (!condition) [[unlikely]]
    throw RuleError{text::cat(parts...)};
}

/// The context of a gradient rule: a call's arguments and results, and the cotangents of the results. The rule sets the
/// cotangents of the tensor arguments; the driver converts them to the arguments' shapes and dtypes, accumulates and
/// records them.
///
///   .gradient = [](Gradient& g) {               // y = tanh(x)
///     const Tensor y = g.result();
///     const Tensor square = mul(y, y);
///     const Tensor slope = sub(1, square);      // one recording call in a statement
///     g.set(0, mul(g.cotangent(), slope));      // g.cotangent() only names a value: no recording
///   },
class Gradient {
 public:
  Gradient(const Symbol& symbol, Arguments arguments, std::span<const Tensor> results,
           std::span<const Tensor> cotangents)
      : symbol_(symbol), arguments_(arguments), results_(results), cotangents_(cotangents) {}

  const Symbol& symbol() const { return symbol_; }
  const Argument& argument(size_t i) const { return arguments_[i]; }
  Arguments arguments() const { return arguments_; }
  /// Tensor argument i; undefined if omitted.
  Tensor tensor(size_t i) const { return arguments_[i].tensor_or_none(); }
  Tensor result(size_t i = 0) const { return results_[i]; }
  size_t result_count() const { return results_.size(); }
  /// Undefined if nothing depends on the result: for symbols with several results, test before use or request zeros.
  Tensor cotangent(size_t i = 0) const { return cotangents_[i]; }
  Tensor cotangent_or_zeros(size_t i) const;
  /// Returns true if the gradient of tensor argument i (its element k for a list) is needed.
  bool needs(size_t i, size_t element = 0) const;
  /// Sets the cotangent of tensor argument i; of its element k for a list. May still have the result's broadcast shape
  /// or dtype.
  void set(size_t i, Tensor cotangent) { set(i, 0, std::move(cotangent)); }
  void set(size_t i, size_t element, Tensor cotangent) { given_.push_back({i, element, std::move(cotangent)}); }

  struct Given {
    size_t argument, element;
    Tensor cotangent;
  };
  std::span<const Given> given() const { return {given_.data(), given_.size()}; }

 private:
  const Symbol& symbol_;
  Arguments arguments_;
  std::span<const Tensor> results_, cotangents_;
  SmallVector<Given, 3> given_;
};

}  // namespace fulgurite
