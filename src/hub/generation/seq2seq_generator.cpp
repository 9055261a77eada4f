#include <fulgurite/hub/seq2seq.h>

#include <algorithm>
#include <bit>

#include <fulgurite/autograd_modes.h>
#include <fulgurite/error.h>

#include "hub/generation/text_of_tokens.h"
#include "hub/generation/token_generator.h"

namespace fulgurite {

namespace {

using models::KeyValueCache;
using models::SourceCache;

constexpr uint64_t min_source = 32;

}  // namespace

struct Seq2SeqGenerator::State {
  std::function<SourceCache(const Tensor& tokens, const Tensor& mask)> encode;
  std::shared_ptr<SourceCache> encoded;  // the decoder's step reads it
  TokenGenerator decoder;
  int64_t start;
  std::vector<int64_t> source{};

  // Sources are padded to powers of two, so that one of any length requires few programs.
  void set_source(std::span<const int64_t> tokens) {
    if (tokens.empty()) throw UserError("generate: the source has no tokens");
    generation::check_not_negative("source", tokens);
    if (std::equal(tokens.begin(), tokens.end(), source.begin(), source.end())) return;
    const NoGrad no_grad;
    source.assign(tokens.begin(), tokens.end());
    const auto length = static_cast<int64_t>(std::bit_ceil(std::max<uint64_t>(tokens.size(), min_source)));
    std::vector<int64_t> padded = source, mask(source.size(), 1);
    padded.resize(static_cast<size_t>(length), 0);
    mask.resize(static_cast<size_t>(length), 0);
    decoder.forget();
    *encoded = encode(reshape(tensor(padded), {1, length}), reshape(tensor(mask), {1, length}));
  }
};

Seq2SeqGenerator::Seq2SeqGenerator(hub::Seq2SeqLM model, std::vector<int64_t> end_tokens) {
  using hub::Seq2SeqLM;
  const auto encode = jit([](Seq2SeqLM m, Tensor tokens, Tensor mask) { return m.encode(tokens, mask); },
                          TokenGenerator::step_options());
  const auto step = jit([](Seq2SeqLM m, Tensor tokens, Tensor positions, Tensor rows, KeyValueCache cache,
                           SourceCache source) { return m.step(tokens, positions, rows, cache, source); },
                        TokenGenerator::step_options());
  const auto encoded = std::make_shared<SourceCache>();
  const auto encode_source = [model, encode](const Tensor& tokens, const Tensor& mask) {
    return encode(model, tokens, mask);
  };
  const auto decode = [model, step, encoded](const Tensor& tokens, const Tensor& positions, const Tensor& rows,
                                             const KeyValueCache& cache) {
    return step(model, tokens, positions, rows, cache, *encoded);
  };
  const auto cache = [model](int64_t capacity, int64_t texts) { return make_cache(model, capacity, texts); };
  state_ = std::make_shared<State>(
      State{encode_source, encoded, TokenGenerator(decode, cache, {}, std::move(end_tokens)), model.start()});
}

std::vector<int64_t> Seq2SeqGenerator::generate(std::span<const int64_t> source, const GenerateOptions& options,
                                                const std::function<bool(const GeneratedToken&)>& on_token) {
  if (options.prompt_lookup_tokens != 0)
    throw UserError("generate: prompt_lookup_tokens must be 0 for a model with an encoder, it is " +
                    std::to_string(options.prompt_lookup_tokens));
  state_->set_source(source);
  const int64_t target[] = {state_->start};
  return state_->decoder.generate(target, options, on_token);
}

Tensor Seq2SeqGenerator::scores(std::span<const int64_t> source, std::span<const int64_t> target) {
  state_->set_source(source);
  std::vector<int64_t> tokens{state_->start};
  tokens.insert(tokens.end(), target.begin(), target.end());
  return state_->decoder.scores(tokens);
}

Seq2SeqTextGenerator::Seq2SeqTextGenerator(hub::Seq2SeqLM model, Tokenizer text)
    : tokens_(std::move(model), text.end_tokens()), text_(std::move(text)) {}

std::string Seq2SeqTextGenerator::generate(std::string_view source, const GenerateOptions& options,
                                           const std::function<void(std::string_view)>& on_text) {
  return generate(text_.encode(source).ids, options, on_text);
}

std::string Seq2SeqTextGenerator::generate(const std::vector<int64_t>& source, const GenerateOptions& options,
                                           const std::function<void(std::string_view)>& on_text) {
  return generation::text_of({text_, {}, options.stop}, on_text,
                             [&](const auto& on_token) { generated_ = tokens_.generate(source, options, on_token); });
}

}  // namespace fulgurite
