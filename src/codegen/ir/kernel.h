#pragma once
#include <string>
#include <vector>

#include <fulgurite/trace.h>

#include "codegen/ir/scalar_expr.h"
#include "support/containers/small_vector.h"

namespace fulgurite::codegen {

/// The loops a value varies along: none, the rows, or (perhaps also) the columns.
enum class Extent : uint8_t { uniform, row, full };

/// The form in which a bf16 value is stored: rounded by the store; exact, it is a number of bf16 already; rounded, but
/// any NaN in it has only the bits of a bf16 NaN.
enum class StoreForm : uint8_t { rounded, exact, inside_bf16 };

/// A value of a kernel, in the order of computation.
struct KernelValue {
  /// Taken: an input's element gathered from its row, at the index that is its operand.
  enum class Kind : uint8_t { input, taken, computed, sum, largest, smallest, column_sum };
  Kind kind = Kind::computed;
  std::string name;  // of the trace's value
  Dtype dtype = Dtype::f32;
  Lanes lanes = Lanes::floats;
  Extent extent = Extent::full;
  ScalarExpr expression;         // of a computed value, over its operands
  SmallVector<int, 4> operands;  // of a reduction: the reduced value
  bool is_costly = false;        // a series, a division, or compared with an extremum: cached rather than recomputed
  bool is_rounded = false;       // of 16 bits: each lane is a number of that dtype
  StoreForm store = StoreForm::rounded;
  int input = -1, output = -1;  // among the kernel's operands; `input` is also set for a gather
  int dimensions = 0;           // a bit for each loop dimension along which it varies
};

/// A tensor that a kernel reads or writes.
struct KernelOperand {
  int proxy = -1;  // the trace's value
  Dtype dtype = Dtype::f32;
  Extent extent = Extent::full;
  bool is_column_sum = false;
  // for each of its own dimensions, the loop dimensions that it is, as bits: several joined, or none of size 1
  SmallVector<int, 6> dimensions;
  bool is_place = false;  // its elements are column indices, to be checked before use
  // the last row loop that reads the row, or the one that writes it; -1: none; max_row_loops: read outside of them too
  int row_loop = -1;
};
constexpr int max_row_loops = 1 << 20;

/// A fusion group as one loop over rows and columns. Size-dependent fields are bound at launch.
struct Kernel {
  std::vector<KernelValue> values;
  std::vector<KernelOperand> inputs, outputs;
  std::vector<double> numbers;                     // numbers that may be sizes, and therefore are arguments
  int dimensions = 0, first_column_dimension = 0;  // the loop dimensions; those before first_column_dimension are rows
  bool has_row_sums = false, has_column_sums = false, has_row_values = false;
};

/// A loop over a row's columns, then the values computed from its reductions. Elements are indices of values.
struct RowLoop {
  std::vector<int> loaded, computed, reduced, stored;
  std::vector<int> cached_loads, cached_stores;  // cached rows of intermediate values
  std::vector<int> row_values;                   // computed after it
};
struct Schedule {
  std::vector<int> uniform_values, row_values;  // computed before all rows, and before a row's first row loop
  std::vector<RowLoop> row_loops;
  std::vector<int> kept;  // by value: its index among the cached rows, or -1
  int kept_rows = 0;
};
/// Assigns each value to a row loop, and chooses the values to cache in between.
Schedule schedule(const Kernel&);
/// Records in a kernel's operands which row loops read and write them.
void plan_row_loops(Kernel&, const Schedule&);

}  // namespace fulgurite::codegen
