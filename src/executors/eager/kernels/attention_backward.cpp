#include "executors/eager/kernels/attention.h"
#include "runtime/parallel_for.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

constexpr int64_t query_block = 64, key_block = 64;

struct Backward {
  AttentionSizes sizes;
  AttentionOperand grad, query, key, value, out, log_sums;
  const AttentionOperand* mask;
  bool is_causal;
  double scale;
};

template <class T>
constexpr int64_t panels_size(int64_t rows, int64_t columns) {
  return panel_padded<T>(columns) * rows;
}

// One matrix after the other, on one thread: probabilities are computed again from the scores and the saved logarithms
// of their sums.
template <class Element>
class BackwardWorker {
  using T = Compute<Element>;
  static constexpr int64_t panel = panel_columns<T>;

 public:
  explicit BackwardWorker(const Backward& call, std::span<const Tensor> results)
      : call_(call),
        s_(call.sizes),
        results_(results),
        width_(padded<T>(s_.features)),
        value_width_(padded<T>(s_.value_features)),
        keys_turned_(panels_size<T>(s_.features, s_.keys)),
        values_turned_(panels_size<T>(s_.value_features, s_.keys)),
        keys_(panels_size<T>(s_.keys, s_.features)),
        queries_(panels_size<T>(query_block, s_.features)),
        grads_(panels_size<T>(query_block, s_.value_features)),
        query_rows_(query_block * s_.features),
        grad_rows_(query_block * s_.value_features),
        probabilities_(query_block * key_block),
        slopes_(query_block * key_block),
        dquery_(query_block * width_),
        dkey_(s_.keys * width_),
        dvalue_(s_.keys * value_width_),
        added_(key_block),
        row_(value_width_) {}

  void run(int64_t matrix) {
    matrix_ = matrix;
    const Element* key = call_.key.template matrix<Element>(matrix, s_.batch);
    const Element* value = call_.value.template matrix<Element>(matrix, s_.batch);
    pack_panels(key, call_.key.column, call_.key.row, s_.features, s_.keys, keys_turned_.data());
    pack_panels(value, call_.value.column, call_.value.row, s_.value_features, s_.keys, values_turned_.data());
    pack_panels(key, call_.key.row, call_.key.column, s_.keys, s_.features, keys_.data());
    std::fill_n(dkey_.data(), s_.keys * width_, T(0));
    std::fill_n(dvalue_.data(), s_.keys * value_width_, T(0));
    for (int64_t i = 0; i < s_.queries; i += query_block) block_of_queries(i, std::min(query_block, s_.queries - i));
    write(results_[1], dkey_.data(), width_, matrix * s_.keys, s_.keys, s_.features);
    write(results_[2], dvalue_.data(), value_width_, matrix * s_.keys, s_.keys, s_.value_features);
  }

 private:
  void write(const Tensor& to, const T* from, int64_t width, int64_t first, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r)
      narrow_row(from + r * width, data_of<Element>(to) + (first + r) * columns, columns);
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
    read_rows(first, rows, grad_rows);

    const int64_t key_count = call_.is_causal ? std::min(s_.keys, first + rows) : s_.keys;
    for (int64_t k = 0; k < key_count; k += key_block) {
      const int64_t count = std::min(key_block, key_count - k);
      for (int64_t r = 0; r < rows; r += tile_rows)
        tile_of_slopes(first, r, std::min<int64_t>(tile_rows, rows - r), k, count, query_rows, grad_rows);
      gather_keys(first, rows, k, count);
    }
    if (key_count <= 0) std::fill_n(dquery_.data(), rows * width_, T(0));
    write(results_[0], dquery_.data(), width_, matrix_ * s_.queries + first, rows, s_.features);
  }

  // The logarithms of the sums, and the inner products of result and cotangent.
  void read_rows(int64_t first, int64_t rows, const LeftRows<Element>& grad_rows) {
    const Element* out = call_.out.template matrix<Element>(matrix_, s_.batch);
    const T* log_sums = call_.log_sums.template matrix<T>(matrix_, s_.batch);
    for (int64_t r = 0; r < rows; ++r) {
      const T saved = log_sums[(first + r) * call_.log_sums.row];
      log_sums_[r] = saved == -infinite<T> ? infinite<T> : saved;  // a query that saw nothing: its probabilities are 0
      widen_row(out + (first + r) * call_.out.row, call_.out.column, s_.value_features, row_.data(), value_width_);
      const T* grad = grad_rows.data + r * grad_rows.stride;
      Wides<T> sum(T(0));
      for (int64_t j = 0; j < s_.value_features; j += lanes) {
        const int64_t some = s_.value_features - j;
        sum = multiply_add(load_up_to(row_.data() + j, some), load_up_to(grad + j, some), sum);
      }
      products_[r] = sum_of_lanes(sum);
    }
  }

  // Probabilities and the scores' cotangents for some queries and a block of keys, and what these add to the queries'
  // cotangents.
  void tile_of_slopes(int64_t first, int64_t r, int64_t rows, int64_t key, int64_t block,
                      const LeftRows<Element>& query_rows, const LeftRows<Element>& grad_rows) {
    const int64_t count = call_.is_causal ? std::min(block, first + r + rows - key) : block;
    T* const probabilities = probabilities_.data() + r * key_block;
    T* const slopes = slopes_.data() + r * key_block;
    if (count <= 0) return;
    multiply_rows<T, false>(rows, count, s_.features, query_rows.data + r * query_rows.stride, query_rows.stride,
                            {keys_turned_.data() + key * s_.features, panel, panel * s_.features}, probabilities,
                            key_block, false);
    multiply_rows<T, false>(rows, count, s_.value_features, grad_rows.data + r * grad_rows.stride, grad_rows.stride,
                            {values_turned_.data() + key * s_.value_features, panel, panel * s_.value_features}, slopes,
                            key_block, false);
    const int64_t width = std::min(std::max(whole_lanes(count), panel_padded<T>(count)), key_block);
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t query = first + r + i;
      const int64_t seen = call_.is_causal ? std::clamp<int64_t>(query + 1 - key, 0, count) : count;
      const T* added = nullptr;
      if (call_.mask != nullptr) {
        mask_row(*call_.mask, matrix_, s_.batch, query, key, seen, added_.data());
        added = added_.data();
      }
      slopes_of_row(probabilities + i * key_block, slopes + i * key_block, added, r + i, seen, width);
    }
    multiply_rows<T, false>(rows, s_.features, count, slopes, key_block,
                            {keys_.data() + key * panel, panel, panel * s_.keys}, dquery_.data() + r * width_, width_,
                            key > 0);
  }

  void slopes_of_row(T* probabilities, T* slopes, const T* added, int64_t row, int64_t seen, int64_t width) {
    const Wides<T> scale(static_cast<T>(call_.scale)), log_sum(log_sums_[row]), product(products_[row]);
    const int64_t whole = whole_lanes(seen);
    for (int64_t j = seen; j < width; ++j) {
      probabilities[j] = -infinite<T>;
      slopes[j] = 0;
    }
    for (int64_t j = 0; j < whole; j += lanes) {
      Wides<T> score = load(probabilities + j) * scale;
      if (added != nullptr) score = score + load_up_to(added + j, seen - j);
      const Wides<T> probability = exp(score - log_sum);
      store(probabilities + j, probability);
      store(slopes + j, probability * (load(slopes + j) - product) * scale);
    }
    for (int64_t j = whole; j < width; ++j) probabilities[j] = 0;
  }

  // What a block of keys and values gets from a block of queries.
  void gather_keys(int64_t first, int64_t rows, int64_t key, int64_t count) {
    for (int64_t j = 0; j < count; j += tile_rows) {
      const int64_t some = std::min<int64_t>(tile_rows, count - j);
      // Queries before these keys do not see them.
      const int64_t skipped = call_.is_causal ? std::max<int64_t>(0, key + j - first) / tile_rows * tile_rows : 0;
      if (skipped >= rows) continue;
      multiply_rows<T, true>(some, s_.value_features, rows - skipped, probabilities_.data() + skipped * key_block + j,
                             key_block, {grads_.data() + skipped * panel, panel, panel * rows},
                             dvalue_.data() + (key + j) * value_width_, value_width_, true);
      multiply_rows<T, true>(some, s_.features, rows - skipped, slopes_.data() + skipped * key_block + j, key_block,
                             {queries_.data() + skipped * panel, panel, panel * rows},
                             dkey_.data() + (key + j) * width_, width_, true);
    }
  }

  const Backward& call_;
  const AttentionSizes& s_;
  std::span<const Tensor> results_;
  int64_t matrix_ = 0, width_, value_width_;
  Scratch<T> keys_turned_, values_turned_, keys_, queries_, grads_, query_rows_, grad_rows_, probabilities_, slopes_,
      dquery_, dkey_, dvalue_, added_, row_;
  T log_sums_[query_block], products_[query_block];
};

}  // namespace

void attention_backward_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor &grad = arguments[0].tensor(), &query = arguments[1].tensor(), &key = arguments[2].tensor();
  const AttentionSizes sizes(query, key, grad);
  const size_t batch = sizes.batch.size();
  const Tensor& mask = arguments[4].tensor_or_none();
  const AttentionOperand mask_operand(mask.defined() ? mask : query, batch);
  AttentionOperand log_sums(arguments[6].tensor(), batch);
  // Their last dimension is the queries: they are columns, one number a row.
  const Sizes& log_sizes = sizes_of(arguments[6].tensor());
  const Sizes& log_strides = strides_of(arguments[6].tensor());
  log_sums.row = log_strides.back();
  for (size_t d = 0; d < batch; ++d) log_sums.batch_strides[d] = log_sizes[d] == 1 ? 0 : log_strides[d];
  const Backward call{sizes,
                      {grad, batch},
                      {query, batch},
                      {key, batch},
                      {arguments[3].tensor(), batch},
                      {arguments[5].tensor(), batch},
                      log_sums,
                      mask.defined() ? &mask_operand : nullptr,
                      arguments[7].boolean(),
                      arguments[8].floating()};
  visit_floating(query.impl()->dtype, [&]<class Element>() {
    const auto body = [&](int64_t begin, int64_t end) {
      BackwardWorker<Element> worker(call, results);
      for (int64_t i = begin; i < end; ++i) worker.run(i);
    };
    const int64_t work = sizes.matrices * sizes.queries * sizes.keys * (sizes.features + sizes.value_features);
    parallel_for(sizes.matrices, work < 100000 ? sizes.matrices + 1 : 1, body);
  });
}

}  // namespace fulgurite::FULGURITE_KERNELS
