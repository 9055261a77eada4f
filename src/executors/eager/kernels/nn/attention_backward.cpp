#include "executors/eager/kernels/nn/attention.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

// Whole rows of probabilities are buffered, for as many queries as fit a core's cache.
constexpr int64_t max_queries = 64, key_block = 64, kept_bytes = 1 << 18;

/// A multiple of tile_rows.
int64_t queries_at_once(int64_t keys, int64_t element_bytes) {
  const int64_t fitting = kept_bytes / std::max<int64_t>(1, keys * element_bytes) / tile_rows * tile_rows;
  return std::clamp<int64_t>(fitting, tile_rows, max_queries);
}

template <class T>
constexpr int64_t panels_size(int64_t rows, int64_t columns) {
  return panel_padded<T>(columns) * rows;
}

// Processes one matrix of keys after the other with all queries that it serves, on one thread. Probabilities are
// recomputed from the scores and the sums' logarithms, and normalized to add up to one as closely as possible: a
// score's cotangent is a difference of nearly equal numbers where one key has nearly all the weight, and has to become
// zero there.
template <class Element>
class BackwardWorker {
  using T = Compute<Element>;
  static constexpr int64_t panel = panel_columns<T>;

 public:
  explicit BackwardWorker(const AttentionBackwardCall& call, std::span<const Tensor> results)
      : call_(call),
        s_(call.sizes),
        results_(results),
        form_(call.scale, call.mask.has_value()),
        width_(padded<T>(s_.features)),
        value_width_(padded<T>(s_.value_features)),
        query_block_(queries_at_once(s_.keys, sizeof(T))),
        stride_(whole_lanes(s_.keys) + lanes),  // not a power of two: rows would map to few cache sets
        keys_turned_(panels_size<T>(s_.features, s_.keys)),
        values_turned_(panels_size<T>(s_.value_features, s_.keys)),
        keys_(panels_size<T>(s_.keys, s_.features)),
        queries_(panels_size<T>(query_block_, s_.features)),
        grads_(panels_size<T>(query_block_, s_.value_features)),
        query_rows_(query_block_ * s_.features),
        grad_rows_(query_block_ * s_.value_features),
        probabilities_(query_block_ * stride_),
        slopes_(query_block_ * stride_),
        dquery_(query_block_ * width_),
        dkey_(s_.keys * width_),
        dvalue_(s_.keys * value_width_),
        added_(whole_lanes(s_.keys)) {}

  void run(int64_t key_matrix) {
    const Element* key = call_.key.template matrix<Element>(key_matrix, s_.key_batch);
    const Element* value = call_.value.template matrix<Element>(key_matrix, s_.key_batch);
    pack_panels(key, call_.key.column, call_.key.row, s_.features, s_.keys, keys_turned_.data());
    pack_panels(value, call_.value.column, call_.value.row, s_.value_features, s_.keys, values_turned_.data());
    pack_panels(key, call_.key.row, call_.key.column, s_.keys, s_.features, keys_.data());
    std::fill_n(dkey_.data(), s_.keys * width_, T(0));
    std::fill_n(dvalue_.data(), s_.keys * value_width_, T(0));
    for (int64_t member = 0; member < s_.group; ++member) {
      matrix_ = key_matrix * s_.group + member;
      for (int64_t i = 0; i < s_.queries; i += query_block_)
        block_of_queries(i, std::min(query_block_, s_.queries - i));
    }
    write({results_[1], key_matrix}, dkey_.data(), width_, 0, s_.keys, s_.features);
    write({results_[2], key_matrix}, dvalue_.data(), value_width_, 0, s_.keys, s_.value_features);
  }

 private:
  void write(const ResultRows<Element>& to, const T* from, int64_t width, int64_t first, int64_t rows,
             int64_t columns) {
    for (int64_t r = 0; r < rows; ++r) narrow_row(from + r * width, to.first + (first + r) * to.stride, columns);
  }

  void block_of_queries(int64_t first, int64_t rows) {
    const Element* query = call_.query.template matrix<Element>(matrix_, s_.batch) + first * call_.query.row;
    const Element* grad = call_.grad.template matrix<Element>(matrix_, s_.batch) + first * call_.grad.row;
    const LeftRows<Element> query_rows(query, call_.query.row, call_.query.column, rows, s_.features,
                                       query_rows_.data());
    const LeftRows<Element> grad_rows(grad, call_.grad.row, call_.grad.column, rows, s_.value_features,
                                      grad_rows_.data());
    pack_panels(query, call_.query.row, call_.query.column, rows, s_.features, queries_.data());
    pack_panels(grad, call_.grad.row, call_.grad.column, rows, s_.value_features, grads_.data());

    const int64_t key_count = call_.seen_by(first + rows - 1);
    multiply_by_keys(first, rows, s_.features, query_rows, keys_turned_, probabilities_);
    multiply_by_keys(first, rows, s_.value_features, grad_rows, values_turned_, slopes_);
    for (int64_t r = 0; r < rows; ++r) slopes_of_row(first + r, r, whole_lanes(tile_end(first, r, rows)));
    for (int64_t k = 0; k < key_count; k += key_block) {
      for (int64_t r = 0; r < rows; r += tile_rows) {
        const int64_t count = std::min(key_block, tile_end(first, r, rows) - k);
        if (count > 0)
          multiply_rows<T, false>(
              std::min<int64_t>(tile_rows, rows - r), s_.features, count, slopes_.data() + r * stride_ + k, stride_,
              {keys_.data() + k * panel, panel, panel * s_.keys}, dquery_.data() + r * width_, width_, k > 0);
      }
      gather_keys(first, rows, k, std::min(key_block, key_count - k));
    }
    if (key_count <= 0) std::fill_n(dquery_.data(), rows * width_, T(0));
    write({results_[0], matrix_}, dquery_.data(), width_, first, rows, s_.features);
  }

  /// The number of keys that the last query of row r's tile sees.
  int64_t tile_end(int64_t first, int64_t r, int64_t rows) const {
    return call_.seen_by(first + std::min(r / tile_rows * tile_rows + tile_rows, rows) - 1);
  }

  // Multiplies some queries' rows by all keys that any query of their tile sees.
  void multiply_by_keys(int64_t first, int64_t rows, int64_t depth, const LeftRows<Element>& left,
                        const Scratch<T>& turned, const Scratch<T>& to) {
    for (int64_t k = 0; k < s_.keys; k += key_block)
      for (int64_t r = 0; r < rows; r += tile_rows) {
        const int64_t count = std::min(key_block, tile_end(first, r, rows) - k);
        if (count > 0)
          multiply_rows<T, false>(std::min<int64_t>(tile_rows, rows - r), count, depth, left.data + r * left.stride,
                                  left.stride, {turned.data() + k * depth, panel, panel * depth},
                                  to.data() + r * stride_ + k, stride_, false);
      }
  }

  // Converts a row of scores to probabilities, and the probabilities' cotangents to those of the products.
  void slopes_of_row(int64_t query, int64_t row, int64_t width) {
    T* const probabilities = probabilities_.data() + row * stride_;
    T* const slopes = slopes_.data() + row * stride_;
    const int64_t seen = call_.seen_by(query);
    if (call_.mask) mask_row(*call_.mask, matrix_, s_.batch, query, 0, seen, added_.data());
    form_.finish(probabilities, call_.mask ? added_.data() : nullptr, seen);
    const double logarithm = call_.logsumexp.template matrix<T>(matrix_, s_.batch)[query * call_.logsumexp.row];
    Wides<T> sum(T(0)), references(-infinite<T>);
    exponentials(
        probabilities, static_cast<T>(logarithm / form_.factor), form_.factor, seen,
        width, [&](int64_t j, const Wides<T>& value) __attribute__((always_inline)) {
          sum = sum + value;
          references = maximum(references, where_most(value, load(slopes + j)));
        });
    const T total = sum_of_lanes(sum);
    const T share = total == 0 ? T(0) : T(1) / total;  // a query that sees no key: its probabilities are 0
    // Scores are relative to the key with the largest weight: its difference is exactly zero instead of merely small.
    const T found = maximum_of_lanes(references);
    const Wides<T> shares(share), reference(found == -infinite<T> ? T(0) : found), scale(form_.scale);
    Wides<T> along(T(0));
    for (int64_t j = 0; j < seen; j += lanes) {
      const Wides<T> probability = load(probabilities + j) * shares;
      const Wides<T> difference = first_lanes(load(slopes + j) - reference, seen - j, T(0));
      store(probabilities + j, probability);
      store(slopes + j, difference);
      along = multiply_add(probability, difference, along);
    }
    const Wides<T> mean(sum_of_lanes(along));
    int64_t j = 0;
    for (; j < seen; j += lanes) store(slopes + j, load(probabilities + j) * (load(slopes + j) - mean) * scale);
    for (; j < width; j += lanes) store(slopes + j, Wides<T>(T(0)));
  }

  // Adds the contribution of a block of queries to the cotangents of a block of keys and values.
  void gather_keys(int64_t first, int64_t rows, int64_t key, int64_t count) {
    for (int64_t j = 0; j < count; j += tile_rows) {
      const int64_t some = std::min<int64_t>(tile_rows, count - j);
      // Queries before these keys do not see them.
      const int64_t skipped = call_.is_causal ? std::max<int64_t>(0, key + j - first) / tile_rows * tile_rows : 0;
      if (skipped >= rows) continue;
      multiply_rows<T, true>(some, s_.value_features, rows - skipped,
                             probabilities_.data() + skipped * stride_ + key + j, stride_,
                             {grads_.data() + skipped * panel, panel, panel * rows},
                             dvalue_.data() + (key + j) * value_width_, value_width_, true);
      multiply_rows<T, true>(some, s_.features, rows - skipped, slopes_.data() + skipped * stride_ + key + j, stride_,
                             {queries_.data() + skipped * panel, panel, panel * rows},
                             dkey_.data() + (key + j) * width_, width_, true);
    }
  }

  const AttentionBackwardCall& call_;
  const AttentionSizes& s_;
  std::span<const Tensor> results_;
  Scores<T> form_;
  int64_t matrix_ = 0, width_, value_width_, query_block_, stride_;
  Scratch<T> keys_turned_, values_turned_, keys_, queries_, grads_, query_rows_, grad_rows_, probabilities_, slopes_,
      dquery_, dkey_, dvalue_, added_;
};

}  // namespace

void attention_backward_kernel(Arguments arguments, std::span<const Tensor> results) {
  const AttentionBackwardCall call(arguments);
  const Dtype dtype = arguments[1].tensor().impl()->dtype;
  if (is_better_in_f64(call.sizes, dtype)) return run_in_f64(attention_backward_kernel, arguments, results);
#if defined(__AVX512F__)
  if (is_worth_pairs(call.sizes, dtype) && codegen::pair_products_are_fast())
    return (codegen::amx_is_usable() ? kernels_amx::attention_backward_kernel
                                     : kernels_avx512_bf16::attention_backward_kernel)(arguments, results);
#endif
  visit_floating(dtype, [&]<class Element>() {
    for_each_key_matrix(call, [&] { return BackwardWorker<Element>(call, results); });
  });
}

}  // namespace fulgurite::FULGURITE_KERNELS
