#pragma once
#include <fulgurite/trace.h>

#include "ops/generated/symbols.h"

namespace fulgurite {

// Passes, the code generator and the runtime recognize the symbols that belong to the trace itself by the tests below,
// and ask the record of any other operator for its traits.

/// Tests a symbol, or the symbol of an op.
class StructuralTest {
 public:
  constexpr explicit StructuralTest(const Symbol& tested) : tested_(&tested) {}
  bool operator()(const Symbol& symbol) const { return &symbol == tested_; }
  bool operator()(const BoundSymbol& bound) const { return bound.symbol == tested_; }

 private:
  const Symbol* tested_;
};

/// Ends a trace.
inline constexpr StructuralTest is_return{prims_return_symbol};
/// Ends the life of values.
inline constexpr StructuralTest is_del{prims_del_symbol};
/// Reads the items of a collection.
inline constexpr StructuralTest is_unpack{prims_unpack_sequence_symbol};
/// Empties a collection.
inline constexpr StructuralTest is_clear{prims_clear_collection_symbol};
/// Writes into the memory of its second argument.
inline constexpr StructuralTest is_write{prims_copy__symbol};
/// Reads the cotangent of a result.
inline constexpr StructuralTest is_get_grad{prims_get_grad_symbol};
/// Adds to the cotangent of a value.
inline constexpr StructuralTest is_put_grad{prims_put_grad_symbol};
/// Refuses a second derivative.
inline constexpr StructuralTest is_once_differentiable{prims_once_differentiable_symbol};
/// Reads the sizes of a tensor.
inline constexpr StructuralTest is_shape_query{prims_shape_symbol};

}  // namespace fulgurite
