#pragma once
#include <string>
#include <vector>

#include <fulgurite/trace.h>

#include "support/containers/small_vector.h"

namespace fulgurite::codegen {

/// What holds sixteen elements of a value while a kernel computes: f32 for all floating dtypes but f64, 32-bit integers for all but i64.
enum class Lanes : uint8_t { floats, doubles, ints, longs, mask };
Lanes lanes_of(Dtype);

/// Along what a value varies: nothing, the rows, or (perhaps also) the columns.
enum class Extent : uint8_t { uniform, row, full };

/// A value of a kernel, in the order in which they are computed.
struct KernelValue {
  /// Taken: an input's element at a place of its row, the place being its operand.
  enum class Kind : uint8_t { input, taken, computed, sum, largest, smallest, column_sum };
  Kind kind = Kind::computed;
  std::string name;             // of the trace's value
  Dtype dtype = Dtype::f32;
  Lanes lanes = Lanes::floats;
  Extent extent = Extent::full;
  std::string expression;       // of a computed one: {0}, {1}, … stand for its operands
  SmallVector<int, 4> operands; // of a reduction: what is reduced
  bool is_costly = false;       // a series or a division, or compared with an extremum: rather kept than repeated
  bool is_rounded = false;      // of 16 bits: each lane is a number of that dtype
  int input = -1, output = -1;  // among the kernel's operands; `input` of what is taken from one too
  int dimensions = 0;           // a bit for each of the region's dimensions along which it varies
};

/// A tensor that a kernel reads or writes.
struct KernelOperand {
  int proxy = -1;                    // the trace's value
  Dtype dtype = Dtype::f32;
  Extent extent = Extent::full;
  bool is_column_sum = false;
  SmallVector<int, 6> dimensions;    // of its own dimensions, which of the region's each is, as bits: several joined, or none of size 1
  bool is_place = false;             // its elements are numbers of columns, to be checked before they are used
  int row_loop = -1;                    // of a row: the last one that reads it, or the one that writes it; -1: none; max_row_loops: more than that reads it
};
constexpr int max_row_loops = 1 << 20;

/// A region of a trace as one loop over rows and columns. What of it depends on sizes is known when it runs.
struct Kernel {
  std::vector<KernelValue> values;
  std::vector<KernelOperand> inputs, outputs;
  std::vector<double> numbers;       // those that may be sizes, and so are arguments
  int dimensions = 0, first_column_dimension = 0;  // the region's; those before are rows
  bool has_row_sums = false, has_column_sums = false, has_row_values = false;
};

/// A sweep over a row's columns, then what follows from its reductions. Indexes of values.
struct RowLoop {
  std::vector<int> loaded, computed, reduced, stored;
  std::vector<int> cached_loads, cached_stores;  // rows of intermediate values
  std::vector<int> row_values;               // computed after it
};
struct Schedule {
  std::vector<int> uniform_values, row_values;  // computed before all rows, and before a row's first sweep
  std::vector<RowLoop> row_loops;
  std::vector<int> kept;                        // by value: its number among the kept rows, or -1
  int kept_rows = 0;
};
/// Decides in which sweep each value is computed, and what is kept in between.
Schedule schedule(const Kernel&);
/// Writes into a kernel's operands which sweeps read and write them.
void plan_row_loops(Kernel&, const Schedule&);

/// The kernel as a C++ function over codegen/device_lib/rows.h; with `plain_names` its values are v0, v1, …, so that equal kernels have
/// equal texts.
std::string kernel_text(const Kernel&, const Schedule&, const std::string& name, bool plain_names);

}  // namespace fulgurite::codegen
