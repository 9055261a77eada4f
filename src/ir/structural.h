#pragma once
#include <fulgurite/symbol.h>
#include <fulgurite/trace.h>

namespace fulgurite {

// Passes, the code generator and the runtime recognize the symbols that belong to the trace itself by the tests below,
// and ask the record of any other operator for its traits.

/// Tests a symbol, or the symbol of an op.
struct KindTest {
  SymbolKind kind;
  bool operator()(const Symbol& symbol) const { return symbol.kind == kind; }
  bool operator()(const BoundSymbol& bound) const { return bound.symbol->kind == kind; }
};

/// Ends a trace.
inline constexpr KindTest is_return{SymbolKind::returning};
/// Ends the life of values.
inline constexpr KindTest is_del{SymbolKind::deletion};
/// Reads the items of a collection.
inline constexpr KindTest is_unpack{SymbolKind::unpacking};
/// Empties a collection.
inline constexpr KindTest is_clear{SymbolKind::clearing};
/// Writes into the memory of its second argument.
inline constexpr KindTest is_write{SymbolKind::writing};
/// Reads the cotangent of a result.
inline constexpr KindTest is_get_grad{SymbolKind::reading_gradient};
/// Adds to the cotangent of a value.
inline constexpr KindTest is_put_grad{SymbolKind::adding_gradient};
/// Refuses a second derivative.
inline constexpr KindTest is_once_differentiable{SymbolKind::once_differentiable};
/// Fails with a message.
inline constexpr KindTest is_no_gradient{SymbolKind::refusing_gradient};
/// Reads the sizes of a tensor.
inline constexpr KindTest is_shape_query{SymbolKind::reading_shape};
/// Reads a tensor's elements at indices of any form: x[i, …].
inline constexpr KindTest is_indexing{SymbolKind::indexing};
/// Is text.
inline constexpr KindTest is_note{SymbolKind::note};
/// Calls a custom function: its forward and its backward.
inline constexpr KindTest is_custom_function{SymbolKind::custom_function};

}  // namespace fulgurite
