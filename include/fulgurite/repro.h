#pragma once
#include <fulgurite/detail/requirements.h>

// What the programs call that examine::repro() writes.
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

/// Tensors that lie as they are described; those that share storage do. Element i of the storage of input k is a function of i, k and the
/// seed alone: floating ones are in [-2, 2), integers and booleans 0 or 1.
std::vector<Tensor> make_tensors(const std::vector<FusionInput>&, uint64_t seed = 0);
/// The same with the elements that a safetensors file has under the inputs' names.
std::vector<Tensor> load_tensors(const std::vector<FusionInput>&, const std::string& path);

/// How a generated kernel sees a tensor: see the kernel's text for what it does with them.
struct KernelOperand {
  enum class Extent : uint8_t { uniform, row, full };
  Dtype dtype = Dtype::f32;
  Extent extent = Extent::full;
  bool is_column_sum = false, is_place = false;
  std::vector<int> dimensions;  // of the tensor's own dimensions, which of the loop's each is, as bits
};
/// The launch of a generated kernel: operands, scalars, and the loop's dimensions.
struct KernelLayout {
  std::vector<KernelOperand> inputs, outputs;
  std::vector<double> numbers;
  int dimensions = 0, first_column_dimension = 0, kept_rows = 0;
  bool has_row_sums = false, has_column_sums = false;
};
/// A generated kernel that a program has in its text, as fusions are run: over all rows, on all threads.
class Kernel {
 public:
  template <class Launch>
  Kernel(void (*kernel)(const Launch&, long, long), const KernelLayout& layout) : Kernel(reinterpret_cast<void (*)()>(kernel), layout) {}
  void run(std::span<const Tensor> inputs, std::span<const Tensor> results) const;

 private:
  Kernel(void (*kernel)(), const KernelLayout&);
  std::shared_ptr<const void> made_;
  size_t inputs_ = 0, results_ = 0;
};

/// How a product's kernels cut it up: left rows of a tile, right rows of a panel, numbers of the depth in a step, steps of a slice that is the whole
/// depth and of one of several, left rows of a block, right numbers that are packed at a time.
struct ProductTiles {
  int tile_rows = 0, panel_rows = 0, step_depth = 0, slice_steps = 0, several_steps = 0, block_rows = 0, packed_numbers = 0;
};
/// What a product's kernel reads where its sums are complete: a tensor of the result's sizes, or a row for all of it.
struct ProductOperand {
  Dtype dtype = Dtype::f32;
  bool is_row = false;
};
/// A product of matrices: left [rows..., depth], right [columns, depth] or, where it is no linear, [depth, columns], what is read beside its sums, and
/// its results [rows..., columns].
struct ProductLayout {
  Dtype left = Dtype::bf16, right = Dtype::bf16;
  Dtype number = Dtype::bf16;  // what operands are rounded to before they are multiplied
  std::vector<Dtype> results = {Dtype::bf16};
  std::vector<ProductOperand> operands = {};
  bool is_linear = false;
  ProductTiles tiles = {};
};
/// The two kernels of a product, as fusions are run.
class Product {
 public:
  template <class Launch>
  Product(void (*pack)(const Launch&, long, long), void (*multiply)(const Launch&, long, long), const ProductLayout& layout)
      : Product(reinterpret_cast<void (*)()>(pack), reinterpret_cast<void (*)()>(multiply), layout) {}
  void run(std::span<const Tensor> inputs, std::span<const Tensor> results) const;

 private:
  Product(void (*pack)(), void (*multiply)(), const ProductLayout&);
  std::shared_ptr<const void> made_;
  size_t inputs_ = 0, results_ = 0;
};

/// What a function of a trace returns, as a list.
inline std::vector<Tensor> tensors(const Tensor& result) { return {result}; }
inline std::vector<Tensor> tensors(std::vector<Tensor> results) { return results; }
template <class... Results>
std::vector<Tensor> tensors(const std::tuple<Results...>& results) {
  return std::apply([](const auto&... result) { return std::vector<Tensor>{result...}; }, results);
}

/// What both sides of a comparison are given.
struct Conditions {
  std::vector<FusionInput> described;
  std::vector<Tensor> tensors, others;  // both lie so, with equal elements; empty: a side is given nothing
};
using Side = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
/// Runs both sides, the subject on `tensors` and the reference on `others`, compares their results, times them, prints what came out, and gives
/// a program's exit status: 1 where they differ. Before each timed run the machine is left as the lines before it leave it in a program: other
/// memory has gone through the caches, the library has run the like on other tensors, and as much has moved since each tensor was touched as is
/// described. What is made over an input is restored.
int compare(const std::string& title, const Side& subject, const Side& reference, Tolerance = {}, int runs = 20, const Conditions& = {});

}  // namespace fulgurite::examine
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
