#pragma once
#include <fulgurite/detail/requirements.h>

// The functions called by the programs of examine::repro().
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <fulgurite/examine.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::examine {

/// Returns tensors with the described layouts; inputs that share storage do so here. Element i of the storage of input
/// k is a function of i, k and the seed only: floating ones are in [-2, 2), integers and booleans 0 or 1.
std::vector<Tensor> make_tensors(const std::vector<FusionInput>&, uint64_t seed = 0);
/// The same with elements from a safetensors file, by the inputs' names.
std::vector<Tensor> load_tensors(const std::vector<FusionInput>&, const std::string& path);

/// A tensor operand of a generated kernel; the kernel's text shows the use of each field.
struct KernelOperand {
  enum class Extent : uint8_t { uniform, row, full };
  Dtype dtype = Dtype::f32;
  Extent extent = Extent::full;
  bool is_column_sum = false, is_place = false;
  std::vector<int> dimensions;  // by dimension of the tensor: its loop dimensions, as bits
};
/// The launch of a generated kernel: operands, scalars, and the loop's dimensions.
struct KernelLayout {
  std::vector<KernelOperand> inputs, outputs;
  std::vector<double> numbers;
  int dimensions = 0, first_column_dimension = 0, kept_rows = 0;
  bool has_row_sums = false, has_column_sums = false;
};
/// A generated kernel whose text is in the program, run like a fusion: over all rows, on all threads.
class Kernel {
 public:
  template <class Launch>
  Kernel(void (*kernel)(const Launch&, long, long), const KernelLayout& layout)
      : Kernel(reinterpret_cast<void (*)()>(kernel), layout) {}
  void run(std::span<const Tensor> inputs, std::span<const Tensor> results) const;

 private:
  Kernel(void (*kernel)(), const KernelLayout&);
  std::shared_ptr<const void> made_;
  size_t inputs_ = 0, results_ = 0;
};

/// The blocking of a GEMM's kernels: rows of a tile, columns of a panel, K in a step, steps of a K block that is all of
/// K and of one of several, rows of a block, columns packed at a time.
struct GemmTiles {
  int tile_rows = 0, panel_rows = 0, step_depth = 0, slice_steps = 0, several_steps = 0, block_rows = 0,
      packed_numbers = 0;
};
/// An epilogue operand of a GEMM's kernel: a tensor of the result's sizes, or a row that broadcasts.
struct GemmOperand {
  Dtype dtype = Dtype::f32;
  bool is_row = false;
};
/// A GEMM: left [rows..., K], right [columns, K] or, unless it is a linear, [K, columns], the epilogue's operands, and
/// the results [rows..., columns].
struct GemmLayout {
  Dtype left = Dtype::bf16, right = Dtype::bf16;
  Dtype number = Dtype::bf16;  // the dtype to which operands are rounded before they are multiplied
  std::vector<Dtype> results = {Dtype::bf16};
  std::vector<GemmOperand> operands = {};
  bool is_linear = false;
  GemmTiles tiles = {};
};
/// The two kernels of a GEMM, run like a fusion.
class Gemm {
 public:
  template <class Launch>
  Gemm(void (*pack)(const Launch&, long, long), void (*multiply)(const Launch&, long, long), const GemmLayout& layout)
      : Gemm(reinterpret_cast<void (*)()>(pack), reinterpret_cast<void (*)()>(multiply), layout) {}
  void run(std::span<const Tensor> inputs, std::span<const Tensor> results) const;

 private:
  Gemm(void (*pack)(), void (*multiply)(), const GemmLayout&);
  std::shared_ptr<const void> made_;
  size_t inputs_ = 0, results_ = 0;
};

/// The name of GemmTiles before 0.2.
using ProductTiles [[deprecated("use GemmTiles")]] = GemmTiles;
/// The name of GemmOperand before 0.2.
using ProductOperand [[deprecated("use GemmOperand")]] = GemmOperand;
/// The name of GemmLayout before 0.2.
using ProductLayout [[deprecated("use GemmLayout")]] = GemmLayout;
/// The name of Gemm before 0.2.
using Product [[deprecated("use Gemm")]] = Gemm;

/// Converts a trace function's results to a list.
inline std::vector<Tensor> tensors(const Tensor& result) { return {result}; }
inline std::vector<Tensor> tensors(std::vector<Tensor> results) { return results; }
template <class... Results>
std::vector<Tensor> tensors(const std::tuple<Results...>& results) {
  return std::apply([](const auto&... result) { return std::vector<Tensor>{result...}; }, results);
}

/// The inputs of both sides of a comparison.
struct Conditions {
  std::vector<FusionInput> described;
  std::vector<Tensor> tensors, others;  // both with these layouts and equal elements; empty: no inputs
};
using Side = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
/// Runs both sides, the subject on `tensors` and the reference on `others`, compares their results, times them, prints
/// a report, and returns a program's exit status: 1 if they differ. Before each timed run the machine's state is that
/// of the surrounding program: other memory has gone through the caches, the library has run similar ops on other
/// tensors, and each tensor has the described reuse distance. Overwritten inputs are restored.
int compare(const std::string& title, const Side& subject, const Side& reference, Tolerance = {}, int runs = 20,
            const Conditions& = {});

}  // namespace fulgurite::examine
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
