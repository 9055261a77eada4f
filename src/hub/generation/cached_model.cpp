#include "hub/generation/cached_model.h"

#include <algorithm>
#include <numeric>

#include <fulgurite/autograd_modes.h>
#include <fulgurite/operators.h>

namespace fulgurite::generation {

namespace {

constexpr int64_t min_capacity = 256;
constexpr int64_t row_unit = 64;
// Rows of one call of the model, at most as many as fit: one, eight, or a multiple of 64. Fewer ones are padded, so
// that prompts of all lengths require ten programs. Each call packs the weights again: a prompt is divided only if it
// has to.
int64_t rows_for(int64_t remaining, int64_t room) {
  const int64_t wanted = std::min(CachedModel::max_rows, (remaining + row_unit - 1) / row_unit * row_unit);
  if (remaining > 8 && room >= row_unit) return std::min(wanted, room / row_unit * row_unit);
  return remaining == 1 || room < 8 ? 1 : 8;
}

int64_t capacity_for(int64_t length) {
  int64_t capacity = min_capacity;
  while (capacity < length) capacity *= 2;
  return capacity;
}

Tensor indices(std::span<const int64_t> values) { return tensor(std::vector<int64_t>(values.begin(), values.end())); }

}  // namespace

void CachedModel::reserve(int64_t length) {
  const int64_t needed = capacity_for(length);
  if (needed <= capacity_) return;
  const LanguageModel::Cache larger = model_.make_cache(needed, texts_);
  for (size_t i = 0; capacity_ > 0 && i < larger.keys.size(); ++i) {
    narrow(larger.keys[i], 2, 0, capacity_).copy_(cache_.keys[i]);
    narrow(larger.values[i], 2, 0, capacity_).copy_(cache_.values[i]);
  }
  cache_ = larger;
  capacity_ = needed;
}

bool CachedModel::set_length(int64_t text, int64_t length) {
  const bool is_long = model_.long_length != 0 && length > model_.long_length;
  const bool was_long = is_long_[static_cast<size_t>(text)];
  is_long_[static_cast<size_t>(text)] = is_long;
  return was_long != is_long;
}

LanguageModel::Cache CachedModel::cache_of(int64_t first, int64_t count) const {
  LanguageModel::Cache part;
  if (cache_.is_long.defined()) {
    const auto begin = is_long_.begin() + first;
    part.is_long = tensor(std::vector<bool>(begin, begin + count)).to(cache_.is_long.device());
  }
  if (count == texts_) {
    part.keys = cache_.keys;
    part.values = cache_.values;
    return part;
  }
  for (const Tensor& keys : cache_.keys) part.keys.push_back(narrow(keys, 0, first, count));
  for (const Tensor& values : cache_.values) part.values.push_back(narrow(values, 0, first, count));
  return part;
}

// The scores after the rows `scored` of a call with so many rows: [scored, vocabulary], f32.
Tensor CachedModel::step(int64_t text, std::span<const int64_t> tokens, int64_t begin, int64_t rows,
                         std::span<const int64_t> scored) {
  const NoGrad no_grad;
  reserve(begin + rows);
  std::vector<int64_t> padded(tokens.begin(), tokens.end());
  padded.resize(static_cast<size_t>(rows), 0);
  const Tensor positions = arange(begin, begin + rows);
  const Tensor scores = model_.step(indices(padded).reshape({1, rows}), positions, indices(scored), cache_of(text, 1));
  return reshape(scores, {static_cast<int64_t>(scored.size()), -1}).to(Dtype::f32);
}

std::pair<int64_t, Tensor> CachedModel::compute(int64_t text, std::span<const int64_t> tokens, int64_t begin) {
  const auto remaining = static_cast<int64_t>(tokens.size());
  const int64_t rows = rows_for(remaining, model_.max_length == 0 ? max_rows : model_.max_length - begin);
  const int64_t used = std::min(rows, remaining);
  const int64_t last[] = {used - 1};
  const Tensor scores = step(text, tokens.first(static_cast<size_t>(used)), begin, rows, last);
  return {used, reshape(scores, {-1})};
}

Tensor CachedModel::compute_all(int64_t text, std::span<const int64_t> tokens, int64_t begin) {
  std::vector<int64_t> every(static_cast<size_t>(max_few_rows));
  std::iota(every.begin(), every.end(), 0);
  const Tensor scores = step(text, tokens, begin, max_few_rows, every);
  return narrow(scores, 0, 0, static_cast<int64_t>(tokens.size()));
}

Tensor CachedModel::compute_each(std::span<const int64_t> tokens, std::span<const int64_t> positions) {
  const NoGrad no_grad;
  const auto texts = static_cast<int64_t>(tokens.size());
  reserve(*std::max_element(positions.begin(), positions.end()) + 1);
  const int64_t first[] = {0};
  const Tensor scores = model_.step(indices(tokens).reshape({texts, 1}), indices(positions).reshape({texts, 1}),
                                    indices(first), cache_of(0, texts));
  return reshape(scores, {texts, -1}).to(Dtype::f32);
}

void CachedModel::exchange(int64_t a, int64_t b, int64_t length) {
  const bool is_long = is_long_[static_cast<size_t>(a)];
  is_long_[static_cast<size_t>(a)] = is_long_[static_cast<size_t>(b)];
  is_long_[static_cast<size_t>(b)] = is_long;
  if (a == b || length == 0) return;
  const NoGrad no_grad;
  const auto exchange_rows = [&](const Tensor& tensor) {
    const Tensor first = narrow(narrow(tensor, 0, a, 1), 2, 0, length);
    const Tensor second = narrow(narrow(tensor, 0, b, 1), 2, 0, length);
    const Tensor saved = first.clone();
    first.copy_(second);
    second.copy_(saved);
  };
  for (const Tensor& keys : cache_.keys) exchange_rows(keys);
  for (const Tensor& values : cache_.values) exchange_rows(values);
}

}  // namespace fulgurite::generation
