#include <fulgurite/hub/text_embedder.h>

#include <algorithm>
#include <numeric>

#include <fulgurite/autograd_modes.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "hub/embedding/sentence_modules.h"
#include "support/text/text.h"

namespace fulgurite {

namespace {

// Texts are padded to the next of these lengths, and batches to the next of these sizes: few programs are compiled.
int64_t padded_length(int64_t length, int64_t longest) {
  int64_t padded = 16;
  while (padded < length) padded += padded < 128 ? 16 : padded / 4;
  return std::min(padded, longest);
}
int64_t padded_batch(int64_t count, int64_t largest) {
  int64_t padded = 1;
  while (padded < count) padded *= 2;
  return std::min(padded, largest);
}

// `mask` [batch, length] is 1 for tokens.
Tensor pool(const Tensor& features, const Tensor& mask, Pooling pooling) {
  if (pooling == Pooling::first_token) return select(features, 1, 0);
  const Tensor is_token = unsqueeze(mask, -1);
  if (pooling == Pooling::max) return amax(where(is_token != 0, features, -1e9), 1);
  const Tensor weights = is_token.to(features.dtype());
  const Tensor total = sum(features * weights, 1);
  const Tensor count = clamp(sum(weights, 1), 1e-9);
  return total / (pooling == Pooling::mean ? count : sqrt(count));
}

// A batch of texts of similar lengths, whose rows go to `rows` of the result.
struct Batch {
  std::vector<int64_t> tokens, mask;
  int64_t size, length;
};

Batch make_batch(const std::vector<std::vector<int64_t>>& texts, std::span<const size_t> rows,
                 const EmbedOptions& options) {
  int64_t longest = 0;
  for (const size_t row : rows) longest = std::max(longest, static_cast<int64_t>(texts[row].size()));
  Batch batch{{},
              {},
              padded_batch(static_cast<int64_t>(rows.size()), options.batch_size),
              padded_length(longest, options.max_tokens)};
  const auto count = static_cast<size_t>(batch.size * batch.length);
  batch.tokens.assign(count, 0);
  batch.mask.assign(count, 0);
  for (size_t i = 0; i < static_cast<size_t>(batch.size); ++i) {
    const std::vector<int64_t>& text = texts[rows[std::min(i, rows.size() - 1)]];  // padded with copies of the last
    const auto at = static_cast<std::ptrdiff_t>(i * static_cast<size_t>(batch.length));
    std::copy(text.begin(), text.end(), batch.tokens.begin() + at);
    std::fill_n(batch.mask.begin() + at, text.size(), int64_t{1});
  }
  return batch;
}

void check_options(const EmbedOptions& options) {
  if (options.batch_size < 1) throw UserError("TextEmbedder: batch_size must be positive");
  if (options.max_tokens < 3) throw UserError("TextEmbedder: max_tokens must be at least 3");
}

}  // namespace

TextEmbedder::TextEmbedder(models::Bert model, Tokenizer text, const EmbedOptions& options)
    : model_(std::move(model)), text_(std::move(text)), options_(options) {
  check_options(options_);
  const Tensor& positions = model_.embeddings.position_embeddings.weight;
  options_.max_tokens =
      std::min(options_.max_tokens, static_cast<int64_t>(positions.size(0)) - model_.embeddings.first_position);
  const auto embed = [pooling = options_.pooling, normalize = options_.normalize](models::Bert bert, Tensor tokens,
                                                                                  Tensor mask) {
    const Tensor vectors = pool(bert(tokens, mask), mask, pooling).to(Dtype::f32);
    return normalize ? nn::normalize(vectors) : vectors;
  };
  step_ = jit(embed);
}

TextEmbedder TextEmbedder::load(const std::string& folder, const hub::LoadOptions& options) {
  const hub::SentenceModules modules = hub::read_sentence_modules(folder);
  return {hub::load<models::Bert>(modules.model_folder, options), Tokenizer::load(modules.model_folder),
          modules.options};
}

Tensor TextEmbedder::embed(const std::vector<std::string>& texts) const {
  const NoGrad no_grad;
  const int64_t special = static_cast<int64_t>(text_.encode("").ids.size());
  std::vector<std::vector<int64_t>> ids;
  ids.reserve(texts.size());
  for (const std::string& text : texts)
    ids.push_back(text_.encode(text, {.max_length = std::max<int64_t>(options_.max_tokens - special, 1)}).ids);
  std::vector<size_t> order(texts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return ids[a].size() > ids[b].size(); });
  Tensor out = empty({static_cast<int64_t>(texts.size()), width()});
  for (size_t begin = 0; begin < order.size(); begin += static_cast<size_t>(options_.batch_size)) {
    const auto count = std::min(static_cast<size_t>(options_.batch_size), order.size() - begin);
    const std::span<const size_t> rows(order.data() + begin, count);
    const Batch batch = make_batch(ids, rows, options_);
    const Shape shape{batch.size, batch.length};
    const Tensor vectors = step_(model_, tensor(batch.tokens).reshape(shape), tensor(batch.mask).reshape(shape));
    const std::vector<int64_t> places(rows.begin(), rows.end());
    out.index_copy_(0, tensor(places), narrow(vectors, 0, 0, static_cast<int64_t>(count)));
  }
  return out;
}

}  // namespace fulgurite
