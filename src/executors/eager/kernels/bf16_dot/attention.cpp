#include "executors/eager/kernels/bf16_dot/pairs.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

// Keys whose scores are buffered at a time. A row's probabilities are rescaled where one such block ends, so this
// affects the result. A multiple of a panel.
// not a power of two: rows would map to few cache sets
constexpr int64_t key_block = 512, score_stride = key_block + panel;

// Attention of a few queries at a time; probabilities, at most one, become bf16 before they are multiplied by values.
class ForwardWorker {
 public:
  ForwardWorker(const AttentionCall& call, std::span<const Tensor> results)
      : call_(call),
        s_(call.sizes),
        out_(results[0]),
        log_sums_(data_of<float>(results[1])),
        form_(call.scale, call.mask.has_value()),
        width_(up_to(s_.value_features, panel)),
        keys_(up_to(s_.keys, panel) * depth_of(s_.features)),
        values_(width_ * depth_of(s_.keys)),
        rows_(product_rows * depth_of(s_.features)),
        probabilities_(product_rows * score_stride / 2),
        scores_(product_rows * score_stride),
        sums_(product_rows * width_),
        added_(key_block) {}

  void run(int64_t matrix, int64_t first, int64_t last) {
    const int64_t key_matrix = matrix / s_.group;
    if (key_matrix != packed_) {
      pack_turned_pairs(call_.key.matrix<BFloat16>(key_matrix, s_.key_batch), call_.key.row, call_.key.column, s_.keys,
                        s_.features, keys_.data());
      pack_pairs(call_.value.matrix<BFloat16>(key_matrix, s_.key_batch), call_.value.row, call_.value.column, s_.keys,
                 s_.value_features, values_.data());
      packed_ = key_matrix;
    }
    for (int64_t i = first; i < last; i += product_rows) some_queries(matrix, i, std::min(product_rows, last - i));
  }

 private:
  void some_queries(int64_t matrix, int64_t first, int64_t rows) {
    float most[up_to(product_rows, lanes)] = {}, sum[up_to(product_rows, lanes)] = {};
    const BFloat16* query = call_.query.matrix<BFloat16>(matrix, s_.batch) + first * call_.query.row;
    const PairRows queries(query, call_.query.row, call_.query.column, rows, s_.features, rows_.data());
    const int64_t key_count = call_.seen_by_rows(matrix, first, rows), depth = depth_of(s_.features);
    for (int64_t k = 0; k < key_count; k += key_block) {
      const int64_t count = std::min(key_block, key_count - k);
      const PanelOperand<Pair> keys{keys_.data() + k * depth, panel, panel * depth};
      multiply_pairs(rows, count, depth, queries.data, queries.stride, keys, scores_.data(), score_stride, false);
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t seen = std::clamp<int64_t>(call_.seen_by(first + r) - k, 0, count);
        if (call_.mask) mask_row(*call_.mask, matrix, s_.batch, first + r, k, seen, added_.data());
        row_of_scores(r, seen, count, k > 0, most[r], sum[r]);
      }
      const PanelOperand<Pair> values{values_.data() + k / 2 * panel, panel, panel * depth_of(s_.keys)};
      multiply_pairs(rows, s_.value_features, depth_of(count), probabilities_.data(), score_stride / 2, values,
                     sums_.data(), width_, k > 0);
    }
    const ResultRows<BFloat16> out(out_, matrix);
    for (int64_t r = 0; r < rows; ++r) {
      const Floats factor(sum[r] == 0 ? 0.f : 1.f / sum[r]);  // a query that sees no key gets zeros
      const float* const row = sums_.data() + r * width_;
      BFloat16* const to = out.first + (first + r) * out.stride;
      int64_t j = 0;
      for (; j + lanes <= s_.value_features; j += lanes) store_narrow(to + j, load(row + j) * factor);
      if (j < s_.value_features) store_some(to + j, load(row + j) * factor, s_.value_features - j);
    }
    float* const log_sums = log_sums_ + matrix * s_.queries + first;
    for (int64_t r = 0; r < rows; r += lanes) {
      const Floats sums = load(sum + r), logarithms = multiply_add(load(most + r), Floats(form_.factor), log(sums));
      store_up_to(log_sums + r, select(sums == Floats(0.f), Floats(-infinite<float>), logarithms), rows - r);
    }
  }

  // Converts products of one query and some keys to its probabilities, up to their sum.
  void row_of_scores(int64_t r, int64_t seen, int64_t count, bool goes_on, float& most, float& sum) {
    float* const scores = scores_.data() + r * score_stride;
    BFloat16* const probabilities = reinterpret_cast<BFloat16*>(probabilities_.data()) + r * score_stride;
    form_.finish(scores, call_.mask ? added_.data() : nullptr, seen);
    // NaN is skipped here; the exponentials produce it.
    Floats largest(-infinite<float>);
    int64_t j = 0;
    for (; j + lanes <= seen; j += lanes) largest = greater_or_second(load(scores + j), largest);
    if (j < seen) largest = greater_or_second(load_up_to(scores + j, seen - j, -infinite<float>), largest);
    const float block_most = maximum_of_lanes(largest);
    const float before = goes_on ? most : -infinite<float>;
    most = std::max(block_most, before);
    const float factor = form_.factor * 1.44269504088896341f;
    const Floats factors(factor), offset(most == -infinite<float> ? 0.f : most * -factor);
    Floats total(0.f);
    for (j = 0; j < 2 * depth_of(count); j += lanes) {
      const Floats value = keep_first(seen - j, exp2_of_small(multiply_add(load(scores + j), factors, offset)));
      total = total + value;
      store_narrow(probabilities + j, value);
    }
    if (!goes_on) {
      sum = sum_of_lanes(total);
      return;
    }
    // No key seen yet: there is nothing to rescale.
    const Floats rescaling = exp2_of_small(Floats(most == -infinite<float> ? 0.f : (before - most) * factor));
    for (int64_t i = 0; i < width_; i += lanes) {
      float* const at = sums_.data() + r * width_ + i;
      store(at, load(at) * rescaling);
    }
    sum = sum * rescaling.part[0][0] + sum_of_lanes(total);
  }

  [[no_unique_address, maybe_unused]] GemmRegisters registers_;
  const AttentionCall& call_;
  const AttentionSizes& s_;
  const Tensor& out_;
  float* log_sums_;
  Scores<float> form_;
  int64_t width_;
  Scratch<Pair> keys_, values_, rows_, probabilities_;
  Scratch<float> scores_, sums_, added_;
  int64_t packed_ = -1;
};

}  // namespace

void attention_kernel(Arguments arguments, std::span<const Tensor> results) {
  const AttentionCall call(arguments, 0);
  for_each_chunk(call, [&] { return ForwardWorker(call, results); });
}

}  // namespace fulgurite::FULGURITE_KERNELS
