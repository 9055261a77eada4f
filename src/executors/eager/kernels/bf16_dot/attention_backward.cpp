#include "executors/eager/kernels/bf16_dot/pairs.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

// Whole rows of probabilities are buffered, for as many queries as fit a core's cache: a multiple of product_rows.
constexpr int64_t max_queries = is_amx ? 128 : 64, key_block = is_amx ? 64 : 256, kept_bytes = 1 << 18;
int64_t queries_at_once(int64_t keys) {
  const int64_t fitting = kept_bytes / static_cast<int64_t>(keys * sizeof(float)) / product_rows * product_rows;
  return std::clamp(fitting, product_rows, max_queries);
}
// Cotangents of keys and values are added up a few keys at a time. The left factors of AMX are rows along the summed
// dimension, here the queries: there the cotangents' and the queries' rows are transposed, and so are the sums.
constexpr int64_t gathered_keys = is_amx ? panel : product_rows;

// Processes one matrix of keys after the other with all queries that it serves, on one thread. Probabilities are
// recomputed from the scores and the sums' logarithms; they and the scores' cotangents become bf16 before they are
// multiplied.
class BackwardWorker {
 public:
  explicit BackwardWorker(const AttentionBackwardCall& call, std::span<const Tensor> results)
      : call_(call),
        s_(call.sizes),
        results_(results),
        form_(call.scale, call.mask.has_value()),
        width_(up_to(s_.features, panel)),
        value_width_(up_to(s_.value_features, panel)),
        query_block_(queries_at_once(s_.keys)),
        stride_(up_to(s_.keys, panel) + panel),  // not a power of two: rows would map to few cache sets
        turned_stride_(depth_of(query_block_) + lanes),
        keys_turned_(up_to(s_.keys, panel) * depth_of(s_.features)),
        values_turned_(up_to(s_.keys, panel) * depth_of(s_.value_features)),
        keys_(width_ * depth_of(s_.keys)),
        queries_(width_ * turned_stride_),
        grads_(value_width_ * turned_stride_),
        query_rows_(query_block_ * depth_of(s_.features)),
        grad_rows_(query_block_ * depth_of(s_.value_features)),
        probability_pairs_(query_block_ / 2 * stride_),
        slope_pairs_(query_block_ / 2 * stride_),
        slope_rows_(query_block_ * stride_ / 2),
        probabilities_(query_block_ * stride_),
        slopes_(query_block_ * stride_),
        dquery_(query_block_ * width_),
        dkey_(stride_ * width_),
        dvalue_(stride_ * value_width_),
        added_(whole_lanes(s_.keys)) {}

  void run(int64_t key_matrix) {
    const BFloat16* key = call_.key.matrix<BFloat16>(key_matrix, s_.key_batch);
    const BFloat16* value = call_.value.matrix<BFloat16>(key_matrix, s_.key_batch);
    pack_turned_pairs(key, call_.key.row, call_.key.column, s_.keys, s_.features, keys_turned_.data());
    pack_turned_pairs(value, call_.value.row, call_.value.column, s_.keys, s_.value_features, values_turned_.data());
    pack_pairs(key, call_.key.row, call_.key.column, s_.keys, s_.features, keys_.data());
    std::fill_n(dkey_.data(), stride_ * width_, 0.f);
    std::fill_n(dvalue_.data(), stride_ * value_width_, 0.f);
    const ResultRows<BFloat16> key_slopes(results_[1], key_matrix);
    const ResultRows<BFloat16> value_slopes(results_[2], key_matrix);
    for (int64_t member = 0; member < s_.group; ++member) {
      matrix_ = key_matrix * s_.group + member;
      for (int64_t i = 0; i < s_.queries; i += query_block_)
        block_of_queries(i, std::min(query_block_, s_.queries - i), key_slopes, value_slopes);
    }
    if constexpr (is_amx) {
      write_turned(key_slopes, dkey_.data(), stride_, s_.keys, s_.features);
      write_turned(value_slopes, dvalue_.data(), stride_, s_.keys, s_.value_features);
    } else {
      write(key_slopes, dkey_.data(), width_, 0, s_.keys, s_.features);
      write(value_slopes, dvalue_.data(), value_width_, 0, s_.keys, s_.value_features);
    }
  }

 private:
  void write(const ResultRows<BFloat16>& to, const float* from, int64_t width, int64_t first, int64_t rows,
             int64_t columns) {
    for (int64_t r = 0; r < rows; ++r) {
      const float* const row = from + r * width;
      BFloat16* const at = to.first + (first + r) * to.stride;
      int64_t j = 0;
      for (; j + lanes <= columns; j += lanes) store_narrow(at + j, load(row + j));
      if (j < columns) store_some(at + j, load(row + j), columns - j);
    }
  }
  // Prefetch rows that are written, or read, soon: their distance is too large for the hardware prefetcher.
  static constexpr int64_t line = 64 / sizeof(BFloat16);
  static void prefetch_rows(const ResultRows<BFloat16>& to, int64_t first, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < columns; j += line) __builtin_prefetch(to.first + (first + r) * to.stride + j, 1);
  }
  static void prefetch_rows(const AttentionOperand& operand, const BFloat16* matrix, int64_t first, int64_t rows,
                            int64_t columns) {
    for (int64_t r = first; r < first + rows; ++r)
      for (int64_t j = 0; j < columns; j += line) __builtin_prefetch(matrix + r * operand.row + j * operand.column);
  }
  // The rows after a block: of its queries' matrix, or of the next one, with that one's keys if they differ.
  struct NextRows {
    const BFloat16 *query, *grad, *key = nullptr, *value = nullptr;
    int64_t queries, keys_for_two = 0;
  };
  NextRows after(int64_t first, int64_t rows) const {
    const int64_t next = first + rows;
    if (next < s_.queries)
      return {call_.query.matrix<BFloat16>(matrix_, s_.batch) + next * call_.query.row,
              call_.grad.matrix<BFloat16>(matrix_, s_.batch) + next * call_.grad.row, nullptr, nullptr,
              s_.queries - next};
    const int64_t matrix = std::min(matrix_ + 1, s_.matrices - 1), keys = matrix / s_.group;
    NextRows found{call_.query.matrix<BFloat16>(matrix, s_.batch), call_.grad.matrix<BFloat16>(matrix, s_.batch),
                   nullptr, nullptr, s_.queries};
    if (matrix % s_.group != 0) return found;
    found.key = call_.key.matrix<BFloat16>(keys, s_.key_batch);
    found.value = call_.value.matrix<BFloat16>(keys, s_.key_batch);
    found.keys_for_two = (s_.keys * 2 + rows - 1) / rows;
    return found;
  }
  void prefetch_rows(const NextRows& next, int64_t r) const {
    const int64_t count = std::clamp<int64_t>(next.queries - r, 0, 2);
    prefetch_rows(call_.query, next.query, r, count, s_.features);
    prefetch_rows(call_.grad, next.grad, r, count, s_.value_features);
    const int64_t key = r / 2 * next.keys_for_two, keys = std::clamp<int64_t>(s_.keys - key, 0, next.keys_for_two);
    prefetch_rows(call_.key, next.key, key, keys, s_.features);
    prefetch_rows(call_.value, next.value, key, keys, s_.value_features);
  }

  void block_of_queries(int64_t first, int64_t rows, const ResultRows<BFloat16>& key_slopes,
                        const ResultRows<BFloat16>& value_slopes) {
    const BFloat16* query = call_.query.matrix<BFloat16>(matrix_, s_.batch) + first * call_.query.row;
    const BFloat16* grad = call_.grad.matrix<BFloat16>(matrix_, s_.batch) + first * call_.grad.row;
    logarithms_ = call_.logsumexp.matrix<float>(matrix_, s_.batch);
    const PairRows query_rows(query, call_.query.row, call_.query.column, rows, s_.features, query_rows_.data());
    const PairRows grad_rows(grad, call_.grad.row, call_.grad.column, rows, s_.value_features, grad_rows_.data());
    if constexpr (is_amx) {
      turn_pairs(query, call_.query.row, call_.query.column, rows, s_.features, queries_.data(), turned_stride_);
      turn_pairs(grad, call_.grad.row, call_.grad.column, rows, s_.value_features, grads_.data(), turned_stride_);
    } else {
      pack_pairs(query, call_.query.row, call_.query.column, rows, s_.features, queries_.data());
      pack_pairs(grad, call_.grad.row, call_.grad.column, rows, s_.value_features, grads_.data());
    }

    const ResultRows<BFloat16> query_slopes(results_[0], matrix_);
    prefetch_rows(query_slopes, first, rows, s_.features);
    const int64_t key_count = call_.seen_by(first + rows - 1);
    multiply_by_keys(first, rows, depth_of(s_.features), query_rows, keys_turned_, probabilities_);
    multiply_by_keys(first, rows, depth_of(s_.value_features), grad_rows, values_turned_, slopes_);
    const NextRows next = after(first, rows);
    for (int64_t r = 0; r < 2 * depth_of(rows); r += 2) {
      prefetch_rows(next, r);
      slopes_of_rows(first, r, rows - r, up_to(tile_end(first, r, rows), std::max<int64_t>(lanes, 2 * depth_unit)));
    }
    for (int64_t r = 0; r < rows; r += product_rows) {
      const int64_t count = std::min(product_rows, rows - r);
      multiply_pairs(count, s_.features, depth_of(tile_end(first, r, rows)), slope_rows_.data() + r * stride_ / 2,
                     stride_ / 2, PanelOperand<Pair>{keys_.data(), panel, panel * depth_of(s_.keys)},
                     dquery_.data() + r * width_, width_, false);
    }
    for (int64_t k = 0; k < key_count; k += gathered_keys) {
      const int64_t count = std::min(gathered_keys, key_count - k);
      if (first + rows == s_.queries) {
        prefetch_rows(key_slopes, k, count, s_.features);
        prefetch_rows(value_slopes, k, count, s_.value_features);
      }
      gather_keys(first, rows, k, count);
    }
    write(query_slopes, dquery_.data(), width_, first, rows, s_.features);
  }

  /// The number of keys that the last query of row r's tile sees.
  int64_t tile_end(int64_t first, int64_t r, int64_t rows) const {
    return call_.seen_by(first + std::min(r / product_rows * product_rows + product_rows, rows) - 1);
  }

  // Multiplies some queries' rows by all keys that any query of their tile sees.
  void multiply_by_keys(int64_t first, int64_t rows, int64_t depth, const PairRows& left, const Scratch<Pair>& turned,
                        const Scratch<float>& to) {
    for (int64_t k = 0; k < s_.keys; k += key_block)
      for (int64_t r = 0; r < rows; r += product_rows) {
        const int64_t count = std::min(key_block, tile_end(first, r, rows) - k);
        if (count > 0)
          multiply_pairs(std::min(product_rows, rows - r), count, depth, left.data + r * left.stride, left.stride,
                         PanelOperand<Pair>{turned.data() + k * depth, panel, panel * depth},
                         to.data() + r * stride_ + k, stride_, false);
      }
  }

  // One query's scores and the reference of its exponents.
  struct Row {
    float* scores;
    const float* cotangents;
    int64_t seen;
    Floats offset, along{0.f}, largest{0.f}, reference{0.f}, mean{0.f};
  };
  [[gnu::always_inline]] Row row_at(int64_t query, int64_t r, bool is_there) {
    Row row{probabilities_.data() + r * stride_, slopes_.data() + r * stride_, 0, Floats(0.f)};
    if (!is_there) return row;  // no key is seen
    row.seen = call_.seen_by(query);
    if (call_.mask) mask_row(*call_.mask, matrix_, s_.batch, query, 0, row.seen, added_.data());
    form_.finish(row.scores, call_.mask ? added_.data() : nullptr, row.seen);
    const float logarithm = logarithms_[query * call_.logsumexp.row];
    if (logarithm != -infinite<float>) row.offset = Floats(logarithm * -1.44269504088896341f);
    return row;
  }
  /// The visible ones of sixteen keys. `is_whole`: all of them.
  template <bool is_whole>
  FULGURITE_INLINE Floats seen_of(const Row& row, int64_t j, const Floats& x) {
    if constexpr (is_whole) return x;
    else return keep_first(row.seen - j, x);
  }
  template <bool is_whole>
  FULGURITE_INLINE Floats probabilities(Row& row, int64_t j, const Floats& factor) {
    const Floats value =
        seen_of<is_whole>(row, j, exp2_of_small(multiply_add(load(row.scores + j), factor, row.offset)));
    const Floats cotangent = seen_of<is_whole>(row, j, load(row.cotangents + j));
    row.along = multiply_add(value, cotangent, row.along);
    row.largest = greater_or_second(value, row.largest);
    store(row.scores + j, value);
    return value;
  }
  // Scores are relative to the key with the largest weight if it has most of the weight: its difference is exactly zero
  // instead of merely small.
  static void find_mean(Row& row) {
    if (any(row.largest > Floats(0.5f))) {
      Floats references(-infinite<float>);
      for (int64_t j = 0; j < row.seen; j += lanes) {
        const Floats cotangent = keep_first(row.seen - j, load(row.cotangents + j));
        references = greater_or_second(where_most(load(row.scores + j), cotangent), references);
      }
      const float found = maximum_of_lanes(references);
      if (found != -infinite<float>) relate_to(row, Floats(found));
    }
    row.mean = Floats(sum_of_lanes(row.along));
  }
  static void relate_to(Row& row, const Floats& reference) {
    row.reference = reference;
    row.along = Floats(0.f);
    for (int64_t j = 0; j < row.seen; j += lanes) {
      const Floats difference = keep_first(row.seen - j, load(row.cotangents + j) - reference);
      row.along = multiply_add(load(row.scores + j), difference, row.along);
    }
  }
  template <bool is_whole>
  FULGURITE_INLINE Floats slopes(const Row& row, int64_t j, const Floats& scale) {
    const Floats centered = (load(row.cotangents + j) - row.reference) - row.mean;
    return seen_of<is_whole>(row, j, load(row.scores + j) * centered * scale);
  }

  // Converts two rows of scores to probabilities, and the probabilities' cotangents to those of the products.
  void slopes_of_rows(int64_t first, int64_t r, int64_t count, int64_t width) {
    Row upper = row_at(first + r, r, count > 0), lower = row_at(first + r + 1, r + 1, count > 1);
    const Floats factor(form_.factor * 1.44269504088896341f), scale(form_.scale);
    Pair* const probability_pairs = probability_pairs_.data() + r / 2 * stride_;
    Pair* const slope_pairs = slope_pairs_.data() + r / 2 * stride_;
    BFloat16* const rows = reinterpret_cast<BFloat16*>(slope_rows_.data()) + r * stride_;
    const auto weigh = [&]<bool is_whole>(std::bool_constant<is_whole>, int64_t j) __attribute__((always_inline)) {
      const Floats a = probabilities<is_whole>(upper, j, factor), b = probabilities<is_whole>(lower, j, factor);
      store_pairs(probability_pairs + j, narrow_rows(a, b));
    };
    const auto slope = [&]<bool is_whole>(std::bool_constant<is_whole>, int64_t j) __attribute__((always_inline)) {
      const NarrowRows both = narrow_rows(slopes<is_whole>(upper, j, scale), slopes<is_whole>(lower, j, scale));
      store_pairs(slope_pairs + j, both);
      store_rows(rows + j, rows + stride_ + j, both);
    };
    const int64_t whole = std::min(upper.seen, lower.seen) / lanes * lanes;
    for (int64_t j = 0; j < whole; j += lanes) weigh(std::true_type(), j);
    for (int64_t j = whole; j < width; j += lanes) weigh(std::false_type(), j);
    find_mean(upper);
    find_mean(lower);
    for (int64_t j = 0; j < whole; j += lanes) slope(std::true_type(), j);
    for (int64_t j = whole; j < width; j += lanes) slope(std::false_type(), j);
  }

  // Adds the contribution of a block of queries to the cotangents of some keys and values.
  void gather_keys(int64_t first, int64_t rows, int64_t key, int64_t count) {
    // Queries before these keys do not see them.
    const int64_t skipped = call_.is_causal ? std::max<int64_t>(0, key - first) / product_rows * product_rows : 0;
    if (skipped >= rows) return;
    const int64_t depth = depth_of(rows - skipped), from = skipped / 2 * stride_ + key;
    const Pair *const probabilities = probability_pairs_.data() + from, *const slopes = slope_pairs_.data() + from;
    if constexpr (is_amx) {
      const int64_t start = skipped / 2;
      multiply_pairs(s_.value_features, count, depth, grads_.data() + start, turned_stride_,
                     PanelOperand<Pair>{probabilities, stride_, 0}, dvalue_.data() + key, stride_, true);
      multiply_pairs(s_.features, count, depth, queries_.data() + start, turned_stride_,
                     PanelOperand<Pair>{slopes, stride_, 0}, dkey_.data() + key, stride_, true);
    } else {
      const int64_t start = skipped / 2 * panel;
      multiply_rows<float, true>(count, s_.value_features, depth, probabilities, stride_,
                                 PanelOperand<Pair>{grads_.data() + start, panel, panel * depth_of(rows)},
                                 dvalue_.data() + key * value_width_, value_width_, true);
      multiply_rows<float, true>(count, s_.features, depth, slopes, stride_,
                                 PanelOperand<Pair>{queries_.data() + start, panel, panel * depth_of(rows)},
                                 dkey_.data() + key * width_, width_, true);
    }
  }

  [[no_unique_address, maybe_unused]] GemmRegisters registers_;
  const AttentionBackwardCall& call_;
  const AttentionSizes& s_;
  std::span<const Tensor> results_;
  Scores<float> form_;
  const float* logarithms_ = nullptr;
  int64_t matrix_ = 0, width_, value_width_, query_block_, stride_, turned_stride_;
  Scratch<Pair> keys_turned_, values_turned_, keys_, queries_, grads_, query_rows_, grad_rows_, probability_pairs_,
      slope_pairs_, slope_rows_;
  Scratch<float> probabilities_, slopes_, dquery_, dkey_, dvalue_, added_;
};

}  // namespace

void attention_backward_kernel(Arguments arguments, std::span<const Tensor> results) {
  const AttentionBackwardCall call(arguments);
  for_each_key_matrix(call, [&] { return BackwardWorker(call, results); });
}

}  // namespace fulgurite::FULGURITE_KERNELS
