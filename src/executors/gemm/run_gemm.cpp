#include "executors/gemm/run_gemm.h"

#include <algorithm>

#include "runtime/threads/parallel_for.h"
#include "tensor/memory/scratch_memory.h"

namespace fulgurite::fused_gemm {

namespace {

using kernels::GemmLaunch;

constexpr int64_t step_bytes = 4;          // of a packed row
constexpr int64_t block_columns = 384;     // limits the L2 cache that a block's unrounded sums use
constexpr int64_t min_blocks = 6;          // are enough for several threads
constexpr int64_t max_cached_rows = 4032;  // rows whose sums are kept between parts of K: whole blocks of any kind

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t up_to(int64_t a, int64_t unit) { return divide_up(a, unit) * unit; }

// Left rows of a block: enough to amortize loading a panel, few enough that several threads have blocks, an even number
// of them of nearly equal size; whole tiles. A function of the sizes.
int64_t rows_of_block(int64_t rows, int64_t column_blocks, const kernels::GemmTiles& tiles) {
  const int64_t most = divide_up(rows, tiles.block_rows / 4), unit = column_blocks % 2 == 0 ? 1 : 2;
  const int64_t below = up_to(std::max(divide_up(rows, tiles.block_rows), divide_up(min_blocks, column_blocks)), unit);
  return up_to(divide_up(rows, std::clamp<int64_t>(below, 1, most)), tiles.tile_rows);
}

// The maximum of K in one K block.
int64_t max_slice_depth(int64_t depth, const kernels::GemmTiles& tiles) {
  const int64_t whole = int64_t{tiles.slice_steps} * tiles.step_depth;
  return depth <= whole ? whole : int64_t{tiles.several_steps} * tiles.step_depth;
}

// The maximum of K blocks that are packed at a time. Those of a block's left rows stay in an L2 cache of 1 MB if they
// are single numbers; pairs pass through it in half of the bytes.
int64_t max_slices(int64_t depth, const kernels::GemmTiles& tiles) {
  constexpr int64_t max_of_singles = 8;
  const int64_t fitting = tiles.packed_numbers / (block_columns * max_slice_depth(depth, tiles));
  return tiles.step_depth == 1 ? std::min(fitting, max_of_singles) : fitting;
}

char* moved(const void* data, int64_t elements, Dtype dtype) {
  return const_cast<char*>(static_cast<const char*>(data)) + elements * size_of(dtype);
}

class GemmRun {
 public:
  GemmRun(const codegen::GemmForm& form, const codegen::CompiledGemm& kernels, const GemmArguments& call)
      : form_(form),
        kernels_(kernels),
        call_(call),
        tiles_(kernels.tiles),
        block_panels_(block_columns / tiles_.panel_rows),
        panel_bytes_(int64_t{tiles_.panel_rows} * tiles_.slice_steps * step_bytes),
        slices_(std::max<int64_t>(1, divide_up(call.depth, max_slice_depth(call.depth, tiles_)))),
        slice_(std::max<int64_t>(1, divide_up(divide_up(call.depth, slices_), int64_t{16} * tiles_.step_depth)) * 16 *
               tiles_.step_depth),
        slices_at_once_(divide_up(slices_, divide_up(slices_, max_slices(call.depth, tiles_)))) {}

  // Divides the right rows and K into parts that are packed at a time.
  void run() {
    const bool is_cut = slices_at_once_ < slices_;
    const int64_t left_rows = is_cut ? max_cached_rows : std::max<int64_t>(call_.left.rows, 1);
    const int64_t rows_that_fit = tiles_.packed_numbers / (slices_at_once_ * max_slice_depth(call_.depth, tiles_));
    const int64_t right_rows = std::max(rows_that_fit / block_columns, int64_t{1}) * block_columns;
    for (int64_t left = 0; left < call_.left.rows; left += left_rows)
      for (int64_t right = 0; right < call_.right.rows; right += right_rows)
        multiply(left, std::min(left_rows, call_.left.rows - left), right,
                 std::min(right_rows, call_.right.rows - right));
  }

 private:
  void multiply(int64_t left_row, int64_t left_rows, int64_t right_row, int64_t right_rows) const {
    GemmLaunch launch{};
    const int64_t panels = divide_up(right_rows, tiles_.panel_rows);
    launch.slice = slice_;
    launch.block_panels = std::min(block_panels_, panels);
    launch.column_blocks = divide_up(panels, launch.block_panels);
    launch.block_rows = rows_of_block(left_rows, launch.column_blocks, tiles_);
    launch.sums_are_kept = slices_at_once_ < slices_;
    kernels::GemmMatrix matrices[codegen::max_gemm_matrices];
    const codegen::GemmEpilogue& epilogue = form_.epilogue;
    launch.results = static_cast<int>(epilogue.results.size());
    launch.matrix_count = static_cast<int>(call_.matrices.size());
    for (size_t m = 0; m < call_.matrices.size(); ++m) {
      const ColumnMatrix& of = call_.matrices[m];
      const Dtype dtype =
          m < epilogue.results.size() ? epilogue.results[m] : epilogue.operands[m - epilogue.results.size()].dtype;
      const auto item = static_cast<long>(size_of(dtype));
      matrices[m] = {moved(of.data, left_row * of.row_stride + right_row, dtype), of.row_stride * item, item};
    }
    launch.matrices = matrices;
    const int64_t blocks = divide_up(left_rows, launch.block_rows) * launch.column_blocks;
    const int64_t block_sums = launch.block_rows * launch.block_panels * tiles_.panel_rows * 4;
    const ScratchMemory packed(panels * slices_at_once_ * panel_bytes_);
    const ScratchMemory kept_sums(launch.sums_are_kept ? blocks * block_sums : 0);
    launch.right_panels = packed.data();
    launch.sums = kept_sums.data();
    for (int64_t slice = 0; slice < slices_; slice += slices_at_once_) {
      const int64_t depth = slice * slice_;
      launch.slices = std::min(slices_at_once_, slices_ - slice);
      launch.depth = std::min(call_.depth - depth, launch.slices * slice_);
      launch.begins = slice == 0;
      launch.ends = slice + slices_at_once_ >= slices_;
      launch.left = operand(call_.left, form_.left, left_row, left_rows, depth);
      launch.right = operand(call_.right, form_.right, right_row, right_rows, depth);
      parallel_for(launch.slices * divide_up(right_rows, kernels::packed_rows), 1,
                   [&](int64_t begin, int64_t end) { kernels_.pack(launch, begin, end); });
      // Blocks beside one another are multiplied from the same packed left rows.
      const int64_t together = blocks / launch.column_blocks >= min_blocks ? launch.column_blocks : 1;
      parallel_ranges(blocks, together, [&](Ranges& ranges) {
        const ScratchMemory strips(up_to(launch.block_rows + tiles_.tile_rows, 16) * launch.slices *
                                   tiles_.slice_steps * step_bytes);
        const ScratchMemory sums(launch.sums_are_kept ? 0 : block_sums);
        GemmLaunch mine = launch;
        mine.left_strips = strips.data();
        if (!launch.sums_are_kept) mine.sums = sums.data();
        for (int64_t begin, end; ranges.next(begin, end);) kernels_.multiply(mine, begin, end);
      });
    }
  }

  static kernels::GemmOperand operand(const DepthMatrix& matrix, Dtype dtype, int64_t row, int64_t rows,
                                      int64_t depth) {
    return {moved(matrix.data, row * matrix.row_stride + depth * matrix.depth_stride, dtype), rows, matrix.row_stride,
            matrix.depth_stride};
  }

  const codegen::GemmForm& form_;
  const codegen::CompiledGemm& kernels_;
  const GemmArguments& call_;
  const kernels::GemmTiles tiles_;
  const int64_t block_panels_, panel_bytes_;       // of a K block
  const int64_t slices_, slice_, slices_at_once_;  // of nearly equal lengths
};

}  // namespace

void run_gemm(const codegen::GemmForm& form, const codegen::CompiledGemm& kernels, const GemmArguments& call) {
  GemmRun(form, kernels, call).run();
}

}  // namespace fulgurite::fused_gemm
