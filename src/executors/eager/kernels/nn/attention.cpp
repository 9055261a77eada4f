#include "executors/eager/kernels/nn/attention.h"
#include "executors/eager/kernels/linalg/matrix_vector.h"
#include "ops/generated/symbols.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

// Keys whose scores are buffered at a time. A row's probabilities are rescaled where one such block ends, so this
// affects the result.
constexpr int64_t key_block = 512;

template <class Element>
class ForwardWorker {
  using T = Compute<Element>;

 public:
  ForwardWorker(const AttentionCall& call, std::span<const Tensor> results)
      : call_(call),
        s_(call.sizes),
        out_(results[0]),
        log_sums_(data_of<T>(results[1])),
        form_(call.scale, call.mask.has_value()),
        width_(padded<T>(s_.value_features)),
        is_packed_(s_.queries != 1 || call.query.column > 1 || call.key.column > 1 || call.value.column > 1),
        keys_(is_packed_ ? panel_padded<T>(s_.keys) * s_.features : 0),
        values_(is_packed_ ? panel_padded<T>(s_.value_features) * s_.keys : 0),
        scores_(tile_rows * key_block),
        sums_(tile_rows * width_),
        rows_(tile_rows * s_.features),
        added_(key_block) {}

  void run(int64_t matrix, int64_t first, int64_t last) {
    if (is_packed_ && matrix / s_.group != packed_) pack(matrix / s_.group);
    for (int64_t i = first; i < last; i += tile_rows)
      tile_of_queries(matrix, i, std::min<int64_t>(tile_rows, last - i));
  }

 private:
  void pack(int64_t matrix) {
    const Element* key = call_.key.template matrix<Element>(matrix, s_.key_batch);
    const Element* value = call_.value.template matrix<Element>(matrix, s_.key_batch);
    pack_panels(key, call_.key.column, call_.key.row, s_.features, s_.keys, keys_.data());
    pack_panels(value, call_.value.row, call_.value.column, s_.keys, s_.value_features, values_.data());
    packed_ = matrix;
  }

  void tile_of_queries(int64_t matrix, int64_t first, int64_t rows) {
    T most[tile_rows], sum[tile_rows];
    for (int64_t r = 0; r < rows; ++r) {
      most[r] = -infinite<T>;
      sum[r] = 0;
    }
    const Element* query = call_.query.template matrix<Element>(matrix, s_.batch) + first * call_.query.row;
    const LeftRows<Element> queries(query, call_.query.row, call_.query.column, rows, s_.features, rows_.data());
    const int64_t key_count = call_.seen_by_rows(matrix, first, rows);
    for (int64_t k = 0; k < key_count; k += key_block) {
      const int64_t count = std::min(key_block, key_count - k);
      if (is_packed_) {
        const PanelOperand<T> keys{keys_.data() + k * s_.features, panel_columns<T>, panel_columns<T> * s_.features};
        multiply_rows<T, false>(rows, count, s_.features, queries.data, queries.stride, keys, scores_.data(), key_block,
                                false);
      } else {
        const Element* key = call_.key.template matrix<Element>(matrix / s_.group, s_.key_batch) + k * call_.key.row;
        for (int64_t j = 0; j < count; ++j, key += call_.key.row) scores_[j] = dot(query, 1, key, 1, s_.features);
      }
      for (int64_t r = 0; r < rows; ++r) {
        T* const scores = scores_.data() + r * key_block;
        const int64_t seen = call_.is_causal ? std::clamp<int64_t>(first + r + 1 - k, 0, count) : count;
        const T* added = nullptr;
        if (call_.mask) {
          mask_row(*call_.mask, matrix, s_.batch, first + r, k, seen, added_.data());
          added = added_.data();
        }
        const T block_most = form_.maximum_of(scores, added, seen);
        const T now = block_most > most[r] || block_most != block_most ? block_most : most[r];
        Wides<T> block_sum(T(0));
        exponentials(
            scores, now, form_.factor, seen,
            whole_lanes(count), [&](int64_t, const Wides<T>& value) __attribute__((always_inline)) {
              block_sum = block_sum + value;
            });
        if (k > 0) {
          // No key seen yet: there is nothing to rescale.
          T factors[lanes];
          store(factors, exp(Wides<T>(now == -infinite<T> ? T(0) : (most[r] - now) * form_.factor)));
          const T factor = factors[0];
          sum[r] *= factor;
          for (int64_t j = 0; j < width_; ++j) sums_[r * width_ + j] *= factor;
        }
        sum[r] += sum_of_lanes(block_sum);
        most[r] = now;
      }
      if (is_packed_) {
        const PanelOperand<T> values{values_.data() + k * panel_columns<T>, panel_columns<T>,
                                     panel_columns<T> * s_.keys};
        multiply_rows<T, false>(rows, s_.value_features, count, scores_.data(), key_block, values, sums_.data(), width_,
                                k > 0);
      } else {
        const Element* value =
            call_.value.template matrix<Element>(matrix / s_.group, s_.key_batch) + k * call_.value.row;
        add_rows(scores_.data(), 1, value, call_.value.row, count, s_.value_features, sums_.data(), k > 0);
      }
    }
    if (key_count <= 0) std::fill_n(sums_.data(), rows * width_, T(0));
    const ResultRows<Element> out(out_, matrix);
    for (int64_t r = 0; r < rows; ++r) {
      const T factor = sum[r] == 0 ? T(0) : T(1) / sum[r];  // a query that sees no key gets zeros
      T* const row = sums_.data() + r * width_;
      for (int64_t j = 0; j < width_; ++j) row[j] *= factor;
      narrow_row(row, out.first + (first + r) * out.stride, s_.value_features);
      log_sums_[matrix * s_.queries + first + r] = sum[r] == 0
                                                       ? -infinite<T>
                                                       : static_cast<T>(static_cast<double>(most[r]) * form_.factor +
                                                                        __builtin_log(static_cast<double>(sum[r])));
    }
  }

  const AttentionCall& call_;
  const AttentionSizes& s_;
  const Tensor& out_;
  T* log_sums_;
  Scores<T> form_;
  int64_t width_;
  bool is_packed_;  // a single query reads keys and values once: they are not packed
  Scratch<T> keys_, values_, scores_, sums_, rows_, added_;
  int64_t packed_ = -1;
};

}  // namespace

void attention_kernel(Arguments arguments, std::span<const Tensor> results) {
  const AttentionCall call(arguments, 0);
  const Dtype dtype = arguments[0].tensor().impl()->dtype;
  if (is_better_in_f64(call.sizes, dtype)) return run_in_f64(attention_kernel, arguments, results);
#if defined(__AVX512F__)
  if (is_worth_pairs(call.sizes, dtype) && codegen::pair_products_are_fast())
    return (codegen::amx_is_usable() ? kernels_amx::attention_kernel : kernels_avx512_bf16::attention_kernel)(arguments,
                                                                                                              results);
#endif
  visit_floating(dtype,
                 [&]<class Element>() { for_each_chunk(call, [&] { return ForwardWorker<Element>(call, results); }); });
}

KernelTable attention_kernels() {
  static constexpr KernelEntry table[] = {
      {&prims_scaled_dot_product_attention_symbol, attention_kernel},
      {&prims_scaled_dot_product_attention_backward_symbol, attention_backward_kernel, nullptr, nullptr, true},
  };
  return table;
}

}  // namespace fulgurite::FULGURITE_KERNELS
