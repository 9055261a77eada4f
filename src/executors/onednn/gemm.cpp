#include "executors/onednn/gemm.h"

#include <algorithm>

#include "codegen/gemm/cpu.h"
#include "executors/eager/gemm_block.h"
#include "executors/eager/kernels.h"
#include "executors/onednn/library.h"
#include "runtime/threads/parallel_for.h"
#include "tensor/memory/scratch_memory.h"

namespace fulgurite {
namespace {

struct Blocks {
  int64_t rows, columns;            // of one block
  int64_t row_count, column_count;  // blocks
};

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The size of each of `count` nearly equal blocks, in multiples of what the innermost GEMM loops compute at a time.
int64_t block_size(int64_t size, int64_t count, int64_t unit) {
  if (count <= 1) return std::max<int64_t>(size, 1);
  return divide_up(divide_up(size, count), unit) * unit;
}

// The number of blocks a GEMM is worth: one for every 16 million operations (a tenth of a millisecond), but none so
// small that packing its operands dominates, and at least two if that leaves each some microseconds. If nothing is
// packed a block takes ten microseconds: threads read memory at different speeds, and with one block each they waited
// for one another almost half of the time.
int64_t wanted_blocks(int64_t m, int64_t n, int64_t k, int64_t batch, int64_t row_limit) {
  const double operations = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  // With few rows or columns the other operand is read from memory once.
  const bool is_streamed = m <= row_limit || n <= 16;
  const double by_size = static_cast<double>(m) * static_cast<double>(n) / (512 * 384);
  double wanted = is_streamed ? operations / 3e5 : std::min(operations / 16e6, by_size);
  if (wanted < 2 && batch < 4 && operations > 4e5) wanted = 2;
  const int64_t count = static_cast<int64_t>(std::clamp(wanted, 1.0, 64.0));
  return count > 1 ? count + count % 2 : 1;
}

// A function of the sizes alone, so that results do not depend on the threads. Chooses the division into that many
// blocks whose operands are packed least often: A for each block of columns, B, which is more expensive, for each block
// of rows.
Blocks cut(int64_t m, int64_t n, int64_t k, int64_t batch, int64_t row_limit) {
  const int64_t wanted = wanted_blocks(m, n, k, batch, row_limit);
  Blocks best{};
  double least = 0;
  for (int64_t count = 1; count <= wanted; ++count) {
    Blocks blocks;
    blocks.rows = block_size(m, count, 16);
    blocks.columns = block_size(n, divide_up(wanted, count), 48);
    blocks.row_count = divide_up(m, blocks.rows);
    blocks.column_count = divide_up(n, blocks.columns);
    double cost = 1.0 / static_cast<double>(blocks.rows) + 1.5 / static_cast<double>(blocks.columns);
    // Too few blocks, or an odd number, leave threads idle.
    const int64_t got = blocks.row_count * blocks.column_count;
    if (got < wanted) cost *= static_cast<double>(wanted) / static_cast<double>(got);
    if (got % 2 != 0 && wanted > 1) cost *= 1 + 1 / static_cast<double>(got);
    if (count == 1 || cost < least) {
      best = blocks;
      least = cost;
    }
  }
  return best;
}

// The offset of a matrix in a batch.
int64_t batch_offset(int64_t index, std::span<const int64_t> sizes, const int64_t* strides) {
  if (strides == nullptr) return 0;
  int64_t offset = 0;
  for (size_t i = sizes.size(); i-- > 0;) {
    offset += index % sizes[i] * strides[i];
    index /= sizes[i];
  }
  return offset;
}

const char* moved(const void* data, int64_t elements, int64_t element_bytes) {
  return static_cast<const char*>(data) + elements * element_bytes;
}

template <class Element>
void add_to(const GemmBlock& block, const char* others) {
  const auto* from = reinterpret_cast<const Element*>(others);
  auto* to = static_cast<Element*>(block.c);
  for (int64_t i = 0; i < block.m; ++i)
    for (int64_t j = 0; j < block.n; ++j) to[i * block.c_row + j] += from[i * block.n + j];
}

// K blocks are accumulated sequentially: a longer K is cut in two, whose sums are of similar size. 16-bit results do
// not show the difference.
constexpr int64_t longest_depth = 65536;

void multiply_in_halves(const GemmBlock& block) {
  const int64_t bytes = size_of(block.dtype);
  GemmBlock first = block, second = block;
  first.k = block.k / 2;
  second.k = block.k - first.k;
  second.a = moved(block.a, first.k * block.a_column, bytes);
  second.b = moved(block.b, first.k * block.b_row, bytes);
  const ScratchMemory others(block.m * block.n * bytes);
  second.c = others.data();
  second.c_row = block.n;
  second.beta = 0;
  second.bias = nullptr;
  multiply_serially(first);
  multiply_serially(second);
  if (block.dtype == Dtype::f64) add_to<double>(block, others.data());
  else add_to<float>(block, others.data());
}

// Dequantizes B.
void multiply_dequantized(const GemmBlock& given) {
  GemmBlock block = given;
  const ScratchMemory weight(block.n * block.k * size_of(block.dtype));
  kernel_set().dequantize_rows(*block.codes, block.first_code_row, block.n, block.dtype, weight.data());
  block.codes = nullptr;
  block.b = weight.data();
  block.b_row = 1;
  block.b_column = block.k;
  multiply_serially(block);
}

}  // namespace

void multiply_serially(const GemmBlock& block) {
  if (has_few_rows(block)) return kernel_set().multiply_block(block);
  if (block.codes != nullptr) return multiply_dequantized(block);
  const bool is_matrix = block.m > 1 && block.n > 1, is_wide = block.dtype == Dtype::f32 || block.dtype == Dtype::f64;
  if (is_matrix && is_wide && block.k > longest_depth) return multiply_in_halves(block);
  // The library takes microseconds to start a 16-bit GEMM.
  const bool is_small = block.dtype != Dtype::f32 && block.m * block.n * block.k <= 16384;
  if (is_matrix && block.k > 0 && !is_small && library_multiply(block)) return;
  kernel_set().multiply_block(block);
}

void gemm(const GemmCall& call) {
  int64_t batch = 1;
  for (const int64_t size : call.batch) batch *= size;
  if (call.m == 0 || call.n == 0 || batch == 0) return;
  const int64_t bytes = size_of(call.dtype);
  const int64_t row_limit =
      call.codes == nullptr && call.b.row == 1 ? kernel_set().max_few_rows(call.dtype, call.n * call.k * bytes) : 16;
  const bool prefetches = codegen::prefetches_few_rows(std::max(call.m, call.n) * call.k * bytes);
  const Blocks blocks = cut(call.m, call.n, call.k, batch, row_limit);
  const int64_t per_gemm = blocks.row_count * blocks.column_count;
  const auto body = [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      const int64_t matrix = index / per_gemm, block_index = index % per_gemm;
      const int64_t row = block_index / blocks.column_count * blocks.rows;
      const int64_t column = block_index % blocks.column_count * blocks.columns;
      const int64_t a = batch_offset(matrix, call.batch, call.a.batch_strides) + row * call.a.row;
      const int64_t b = batch_offset(matrix, call.batch, call.b.batch_strides) + column * call.b.column;
      const int64_t c = batch_offset(matrix, call.batch, call.c_batch_strides) + row * call.c_row + column;
      GemmBlock block;
      block.dtype = call.dtype;
      block.m = std::min(blocks.rows, call.m - row);
      block.n = std::min(blocks.columns, call.n - column);
      block.k = call.k;
      block.a = moved(call.a.data, a, bytes);
      block.a_row = call.a.row;
      block.a_column = call.a.column;
      if (call.codes == nullptr) block.b = moved(call.b.data, b, bytes);
      block.b_row = call.b.row;
      block.b_column = call.b.column;
      block.c = const_cast<char*>(moved(call.c, c, bytes));
      block.c_row = call.c_row;
      block.alpha = call.alpha;
      block.beta = call.beta;
      if (call.bias != nullptr) block.bias = moved(call.bias, column * call.bias_stride, bytes);
      block.bias_stride = call.bias_stride;
      block.codes = call.codes;
      block.first_code_row = column;
      block.max_few_rows = row_limit;
      block.prefetches = prefetches;
      multiply_serially(block);
    }
  };
  const int64_t count = batch * per_gemm;
  const double operations =
      2.0 * static_cast<double>(call.m) * static_cast<double>(call.n) * static_cast<double>(call.k);
  // A few microseconds of work is not worth a second thread.
  const int64_t grain = operations * static_cast<double>(batch) < 4e5 ? count + 1 : 1;
  parallel_for(count, grain, body);
}

}  // namespace fulgurite
