#include <filesystem>

#include <fulgurite/fulgurite.h>

#include "hub/bert_folder.h"
#include "support/layer_values.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

// The features of a text's tokens, computed without padding: [length, width].
Tensor features_of(const models::Bert& model, const std::string& text) {
  const NoGrad no_grad;
  const std::vector<int64_t> ids = Tokenizer::from_json(small_bert_tokenizer()).encode(text).ids;
  return model(tensor(ids).reshape({1, static_cast<int64_t>(ids.size())}))(0);
}

Tensor pooled(const Tensor& features, Pooling pooling) {
  if (pooling == Pooling::first_token) return features(0);
  if (pooling == Pooling::max) return amax(features, 0);
  const Tensor total = sum(features, 0);
  const auto count = static_cast<double>(features.size(0));
  return total / (pooling == Pooling::mean ? count : std::sqrt(count));
}

void write_modules(const TestFolder& folder, const std::string& more, const std::string& pooling) {
  write_text(folder.file("modules.json"),
             R"([{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
  {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"})" +
                 more + "]");
  std::filesystem::create_directories(folder.file("1_Pooling"));
  write_text(folder.file("1_Pooling/config.json"), pooling);
}

}  // namespace

TEST("a text's vector is the pooled features of its tokens, in batches of any lengths") {
  const models::Bert model = small_bert();
  const std::vector<std::string> texts = {"red", "", "green blue red red", "blue mauve", "red green"};
  for (const Pooling pooling : {Pooling::mean, Pooling::first_token, Pooling::max, Pooling::mean_of_root})
    for (const int64_t batch_size : {1, 2, 32}) {
      const TextEmbedder embedder(model, Tokenizer::from_json(small_bert_tokenizer()),
                                  {.pooling = pooling, .batch_size = batch_size});
      const Tensor vectors = embedder.embed(texts);
      for (size_t i = 0; i < texts.size(); ++i)
        expect_near(values(vectors(static_cast<int64_t>(i))), values(pooled(features_of(model, texts[i]), pooling)),
                    1e-5);
    }
}

TEST("texts that are too long are cut off, and vectors may be normalized") {
  const models::Bert model = small_bert();
  const TextEmbedder embedder(model, Tokenizer::from_json(small_bert_tokenizer()),
                              {.normalize = true, .max_tokens = 4});
  const Tensor vectors = embedder.embed({"red green blue blue blue", "red green"});
  expect_near(values(vectors(0)), values(vectors(1)));
  expect_near(values(sum(vectors * vectors, 1)), {1, 1}, 1e-5);
  expect_equal(embedder.embed({}).shape(), Shape({0, 8}));
}

TEST("a folder's modules give pooling, normalization and length") {
  const TestFolder folder;
  write_bert(folder, small_bert());
  expect_equal(TextEmbedder::load(folder.path).options().max_tokens, int64_t{24});
  write_text(folder.file("sentence_bert_config.json"), R"({"max_seq_length": 6})");
  write_modules(folder, R"(, {"idx": 2, "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"})",
                R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false})");
  const EmbedOptions options = TextEmbedder::load(folder.path).options();
  expect_equal(options.pooling, Pooling::first_token);
  expect(options.normalize);
  expect_equal(options.max_tokens, int64_t{6});
}

TEST("modules that there are not are errors") {
  const TestFolder folder;
  write_bert(folder, small_bert());
  write_modules(folder, R"(, {"path": "2_Dense", "type": "sentence_transformers.models.Dense"})",
                R"({"pooling_mode": "mean"})");
  expect_error([&] { TextEmbedder::load(folder.path); },
               "\"" + folder.path +
                   "\": modules.json has the module \"sentence_transformers.models.Dense\", which is not supported; "
                   "there are Transformer, Pooling and Normalize");
  write_modules(folder, "", R"({"pooling_mode_lasttoken": true})");
  expect_error([&] { TextEmbedder::load(folder.path); },
               "\"" + folder.path +
                   "/1_Pooling/config.json\": the pooling is not supported; there are one of mean, cls, max and "
                   "mean_sqrt_len_tokens");
  write_text(folder.file("modules.json"), R"([{"path": "../x", "type": "Transformer"}])");
  expect_error([&] { TextEmbedder::load(folder.path); },
               "\"" + folder.path + "\": modules.json names the path \"../x\" outside of it");
}
