#include <cmath>

#include <fulgurite/fulgurite.h>

#include "hub/model_folder.h"
#include "hub/small_tokenizer.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

std::string t5_config(const std::string& more = "") {
  return R"({"model_type": "t5", "vocab_size": 13, "d_model": 16, "d_kv": 6, "d_ff": 20, "num_layers": 2,
  "num_decoder_layers": 3, "num_heads": 2, "relative_attention_num_buckets": 8, "relative_attention_max_distance": 20,
  "decoder_start_token_id": 3, "pad_token_id": 2)" +
         more + "}\n";
}

models::T5 small_t5(const std::string& more = "") {
  manual_seed(5);
  auto model = models::T5::from_config(hub::Config(t5_config(more)), models::LayerMaker());
  const NoGrad no_grad;
  for (const Tensor& parameter : nn::parameters(model)) nn::normal_(parameter, 0.0, 0.6);
  return model;
}

std::vector<int64_t> tokens_of(int64_t length) {
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i < length; ++i) tokens.push_back((7 * i + 3) % 13);
  return tokens;
}

Tensor row(const std::vector<int64_t>& tokens) { return unsqueeze(tensor(tokens), 0); }

std::vector<int64_t> greedy(const models::T5& model, const std::vector<int64_t>& source, int64_t count) {
  const NoGrad no_grad;
  std::vector<int64_t> target{3};
  for (int64_t i = 0; i < count; ++i) target.push_back(argmax(model(row(source), row(target))(0, -1)).item<int64_t>());
  return {target.begin() + 1, target.end()};
}

// The distances at which the bucket changes, before a position.
std::vector<int64_t> boundaries(const Tensor& buckets) {
  const std::vector<int64_t> all = buckets.to_vector<int64_t>();
  std::vector<int64_t> out;
  const size_t middle = all.size() / 2;
  for (size_t distance = 1; distance <= middle; ++distance)
    if (all[middle - distance] != all[middle - distance + 1]) out.push_back(static_cast<int64_t>(distance));
  return out;
}

void write_folder(const TestFolder& folder, const models::T5& model, const std::string& more = "") {
  write_text(folder.file("config.json"), t5_config(more));
  hub::save(model, folder.path, {.like = folder.path});
}

}  // namespace

TEST("buckets of relative positions are those of transformers") {
  const auto model = models::make_t5({.layers = 1, .decoder_layers = 1, .heads = 1, .width = 4, .hidden = 4});
  expect_equal(boundaries(model.encoder.relative_buckets),
               std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91});
  expect_equal(boundaries(model.decoder.relative_buckets),
               std::vector<int64_t>{1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                                    19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113});
  expect_equal(model.encoder.relative_buckets(128 + 1).item<int64_t>(), 17);  // later positions have the second half
  expect_equal(model.encoder.relative_buckets(256).item<int64_t>(), 31);
  expect_equal(model.decoder.relative_buckets(256).item<int64_t>(), 0);
  const auto odd = models::make_t5(
      {.layers = 1, .decoder_layers = 1, .heads = 1, .width = 4, .hidden = 4, .buckets = 10, .max_distance = 100});
  expect_equal(boundaries(odd.encoder.relative_buckets), std::vector<int64_t>{1, 2, 8, 28});
  expect_equal(boundaries(odd.decoder.relative_buckets), std::vector<int64_t>{1, 2, 3, 4, 5, 10, 17, 31, 55});
}

TEST("generated tokens are those of complete forward passes, for sources of all kinds of lengths") {
  const models::T5 model = small_t5();
  Seq2SeqGenerator generator({model});
  for (const int64_t length : {1, 5, 32, 33, 70, 5}) {
    const std::vector<int64_t> source = tokens_of(length), expected = greedy(model, source, 30);
    expect_equal(generator.generate(source, {.max_tokens = 30}), expected);
    expect_equal(generator.generate(source, {.max_tokens = 30}), expected);  // the source is still encoded
  }
  const std::vector<int64_t> target{4, 1}, whole{3, 4, 1};
  const Tensor expected = model(row(tokens_of(9)), row(whole))(0, -1);
  expect(allclose(generator.scores(tokens_of(9), target), expected, 1e-5, 1e-5));
}

TEST("texts end at end tokens and false from the callback") {
  const models::T5 model = small_t5();
  const std::vector<int64_t> all = greedy(model, tokens_of(6), 30);
  Seq2SeqGenerator generator({model}, {all[4]});
  const auto end = std::find(all.begin(), all.end(), all[4]);
  expect_equal(generator.generate(tokens_of(6), {.max_tokens = 30}), std::vector<int64_t>(all.begin(), end));
  const auto first = Seq2SeqGenerator({model}).generate(tokens_of(6), {}, [](const GeneratedToken&) { return false; });
  expect_equal(first, std::vector<int64_t>{all[0]});
}

TEST("a step of a decoder is one program, also where each text has its position") {
  const models::T5 model = small_t5();
  const auto step = [](models::T5 m, Tensor tokens, Tensor positions, Tensor rows, models::KeyValueCache cache,
                       models::SourceCache source) { return m.step(tokens, positions, rows, cache, source); };
  const auto compiled = jit(step, {.fullgraph = true});
  const Tensor sources = tensor({{5, 6, 7}, {8, 9, 2}}), mask = tensor({{1, 1, 1}, {1, 1, 0}});
  const models::SourceCache encoded = model.encode(sources, mask);
  const models::KeyValueCache cache = make_cache(model, 8, 2);
  compiled(model, tensor({{3, 1}, {3, 4}}), tensor({{0, 1}, {0, 1}}), tensor({1}), cache, encoded);
  compiled(model, tensor({{6}, {6}}), tensor({{2}, {1}}), tensor({0}), cache, encoded);
  const Tensor scores = compiled(model, tensor({{7}, {7}}), tensor({{3}, {2}}), tensor({0}), cache, encoded);
  expect(allclose(scores(0, 0), model(tensor({{5, 6, 7}}), tensor({{3, 1, 6, 7}}))(0, 3), 1e-5, 1e-5));
  expect(allclose(scores(1, 0), model(tensor({{8, 9}}), tensor({{3, 6, 7}}))(0, 2), 1e-5, 1e-5));
}

TEST("the decoder's tokens for labels begin with the start token and have padding instead of -100") {
  const models::T5 model = small_t5();
  const Tensor labels = tensor({{5, 6, 7}, {8, -100, -100}});
  expect(equal(model.shifted(labels), tensor({{3, 5, 6}, {3, 8, 2}})));
  const Tensor source = tensor({{1, 4}, {4, 1}}), logits = model(source, model.shifted(labels));
  const Tensor expected = nn::cross_entropy(reshape(logits, {6, 13}), reshape(labels, {6}));
  expect(allclose(model.loss(source, labels), expected, 1e-6, 0));
}

TEST("the output layer has the embedding's weight unless files have one of its own, whatever the config says") {
  for (const char* more : {"", R"(, "tie_word_embeddings": false)", R"(, "tie_word_embeddings": true)"}) {
    const TestFolder tied_folder, own_folder;
    const models::T5 tied = small_t5(more);
    models::T5 own = tied;
    own.lm_head.weight = (tied.shared.weight.detach() * 2.0).requires_grad_();
    write_folder(tied_folder, tied, more);
    write_folder(own_folder, own, more);
    const auto loaded = hub::load<models::T5>(tied_folder.path), other = hub::load<models::T5>(own_folder.path);
    expect(!loaded.lm_head.weight.defined());
    expect(other.lm_head.weight.defined());
    const Tensor source = row(tokens_of(4)), target = row(tokens_of(3));
    expect(allclose(loaded(source, target) * 2.0, other(source, target), 1e-6, 1e-6));
    expect_equal(loaded.output_scale, std::string(more).find("false") != std::string::npos ? 1.0 : 0.25);
  }
  expect_equal(small_t5(R"(, "tie_word_embeddings": true, "scale_decoder_outputs": false)").output_scale, 1.0);
}

TEST("a text generator encodes the source and decodes the target") {
  const models::T5 model = small_t5();
  const Tokenizer tokenizer = small_tokenizer();
  Seq2SeqTextGenerator generator({model}, tokenizer);
  std::string streamed;
  const GenerateOptions options{.max_tokens = 20, .temperature = 1, .seed = 3};
  const std::string text =
      generator.generate("a cab", options, [&](std::string_view part) { streamed += std::string(part); });
  const std::vector<int64_t> source = tokenizer.encode("a cab").ids;
  expect_equal(text, tokenizer.decode(Seq2SeqGenerator({model}).generate(source, options)));
  expect_equal(streamed, text);
  GenerateOptions stopped = options;
  stopped.stop = {text.substr(5, 2)};
  expect_equal(generator.generate("a cab", stopped), text.substr(0, text.find(stopped.stop[0])));
}

TEST("numbers beyond f16's become its largest ones") {
  const Tensor x = tensor({1.0, 70000.0, -70000.0}).to(Dtype::f16);
  expect(equal(models::within_f16(x).to(Dtype::f32), tensor({1.0, 64504.0, -64504.0}).to(Dtype::f16).to(Dtype::f32)));
  const Tensor wide = tensor({1e9});
  expect(equal(models::within_f16(wide), wide));
}

TEST("folders and sources that do not fit are refused") {
  const TestFolder folder;
  write_folder(folder, small_t5());
  expect_error([&] { hub::load_causal_lm(folder.path); },
               "\"model_type\" is \"t5\", which is not supported; language "
               "models are loaded of the families llama, ");
  write_text(folder.file("config.json"), small_llama_config());
  expect_error(
      [&] { hub::load_seq2seq(folder.path); },
      "\"model_type\" is \"llama\", which is not supported; models with an encoder and a decoder are loaded of "
      "the families t5, mt5");
  expect_error([] { small_t5(R"(, "feed_forward_proj": "gated-laplace")"); },
               "\"feed_forward_proj\" is \"gated-laplace\", which is not supported; there are gelu, ");
  expect_error(
      [] { models::make_t5({.buckets = 32, .max_distance = 16}); },
      "make_t5: there must be at least 4 buckets, and max_distance must exceed half of them; there are 32, and "
      "max_distance is 16");
  Seq2SeqGenerator generator({small_t5()});
  const std::vector<int64_t> none, negative{1, -2};
  expect_error([&] { generator.generate(none); }, "generate: the source has no tokens");
  expect_error([&] { generator.generate(negative); }, "generate: the source has the token -2, which is negative");
}
