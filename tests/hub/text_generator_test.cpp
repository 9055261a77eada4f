#include <fulgurite/fulgurite.h>

#include "hub/generation/stop_filter.h"
#include "hub/model_folder.h"
#include "hub/small_tokenizer.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

models::Llama lively_llama() {
  models::Llama model = small_llama();
  const NoGrad no_grad;
  for (const Tensor& parameter : nn::parameters(model)) nn::normal_(parameter, 0.0, 0.4);
  return model;
}

std::string joined(generation::StopFilter& filter, const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += filter.put(part) + "|";
  return out + filter.finish();
}

}  // namespace

TEST("a text generator decodes the tokens that a token generator chooses") {
  const models::Llama model = lively_llama();
  const Tokenizer tokenizer = small_tokenizer();
  TextGenerator generator(model, tokenizer);
  for (const uint64_t seed : {1, 2, 3}) {
    const GenerateOptions options{.max_tokens = 40, .temperature = 1, .seed = seed};
    std::string streamed;
    const std::string text =
        generator.generate("a cab", options, [&](std::string_view part) { streamed += std::string(part); });
    const std::vector<int64_t> ids = TokenGenerator(model).generate(tokenizer.encode("a cab").ids, options);
    expect_equal(generator.generated(), ids);
    expect_equal(text, tokenizer.decode(ids));
    expect_equal(streamed, text);
  }
}

TEST("a stop text ends a generated text and is not part of it") {
  TextGenerator generator(lively_llama(), small_tokenizer());
  const GenerateOptions all{.max_tokens = 40, .temperature = 1, .seed = 5};
  const std::string text = generator.generate("a cab", all);
  const std::string stop = text.substr(10, 3);
  GenerateOptions options = all;
  options.stop = {"not there", stop};
  expect_equal(generator.generate("a cab", options), text.substr(0, text.find(stop)));
  options.stop = {""};
  expect_error([&] { generator.generate("a", options); }, "generate: a text in stop is empty");
}

TEST("texts of a batch are those of their prompts") {
  TextGenerator generator(lively_llama(), small_tokenizer());
  GenerateOptions options{.max_tokens = 40, .temperature = 1, .seed = 5};
  const std::vector<std::string> prompts{"a cab", "bad", "a", "face", "a big jab", "hi"};
  options.stop = {generator.generate(prompts[3], options).substr(10, 2)};
  const std::vector<std::string> texts = generator.generate_batch(prompts, options, 4);
  for (size_t i = 0; i < prompts.size(); ++i) expect_equal(texts[i], generator.generate(prompts[i], options));
}

TEST("texts that may become a stop text are held back") {
  generation::StopFilter filter({"</s>", "END"});
  expect_equal(joined(filter, {"one <", "two </", "s", "x EN", "D rest", "more"}), std::string("one |<two ||</sx |||"));
  expect(filter.is_stopped());
  generation::StopFilter other({"</s>"});
  expect_equal(joined(other, {"one </s"}), std::string("one |</s"));
}

TEST("the tokens that end a text come from generation_config.json, config.json or the tokenizer") {
  const TestFolder folder;
  write_text(folder.file("tokenizer.json"),
             tokenizer_text(words_model, {{"added_tokens", R"([{"id": 5, "content": "</s>", "special": true}])"}}));
  write_text(folder.file("tokenizer_config.json"), R"({"eos_token": {"content": "</s>"}})");
  expect_equal(Tokenizer::load(folder.path).end_tokens(), std::vector<int64_t>{5});
  write_text(folder.file("config.json"), R"({"eos_token_id": 7})");
  expect_equal(Tokenizer::load(folder.path).end_tokens(), std::vector<int64_t>{7});
  write_text(folder.file("generation_config.json"), R"({"eos_token_id": [8, 9]})");
  expect_equal(Tokenizer::load(folder.path).end_tokens(), std::vector<int64_t>({8, 9}));
}
