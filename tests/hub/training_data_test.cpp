#include <algorithm>

#include <fulgurite/error.h>

#include "hub/model_folder.h"
#include "hub/training/training_data.h"
#include "support/test.h"
#include "tokenizer/tokenizer_text.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

// Letters are tokens, "." ends a text.
const TestFolder& folder() {
  static const TestFolder made;
  static const bool is_written = [] {
    std::string vocabulary;
    for (char c = 'a'; c <= 'z'; ++c) vocabulary += std::string(1, '"') + c + "\": " + std::to_string(c - 'a') + ", ";
    write_text(made.file("tokenizer.json"), test::tokenizer_text("{\"type\": \"BPE\", \"merges\": [], \"vocab\": {" +
                                                                 vocabulary + "\".\": 26, \"é\": 27, \":\": 28}}"));
    write_text(made.file("tokenizer_config.json"), R"({"eos_token": "."})");
    write_text(made.file("chat_template.jinja"),
               "{% for m in messages %}{{ m.role[0] }}:{{ m.content }}.{% endfor %}{% if add_generation_prompt %}a:"
               "{% endif %}");
    return true;
  }();
  (void)is_written;
  return made;
}

// The tokens as text; those that are not learned as "_".
std::string learned(const hub::TrainingData& data, const Tokenizer& tokenizer) {
  std::string out;
  for (size_t i = 0; i < data.tokens.size(); ++i)
    out += data.targets[i] < 0 ? "_" : tokenizer.id_to_token(data.targets[i]).value_or("?");
  return out;
}

std::string learned_of(const std::string& content, const std::string& name) {
  write_text(folder().file(name), content);
  const Tokenizer tokenizer = Tokenizer::load(folder().path);
  return learned(hub::read_training_data(folder().file(name), tokenizer), tokenizer);
}

}  // namespace

TEST("texts are learned whole, completions and the assistant's messages alone") {
  expect_equal(learned_of("abc", "x.txt"), std::string("abc."));
  expect_equal(learned_of("{\"text\": \"ab\"}\n\n{\"text\": \"cé\"}\n", "x.jsonl"), std::string("ab.cé."));
  expect_equal(learned_of(R"({"prompt": "éb", "completion": "cd"})", "x.jsonl"), std::string("__cd."));
  const std::string chat = R"({"messages": [{"role": "user", "content": "éa"}, {"role": "assistant", "content": "bc"},)"
                           R"({"role": "user", "content": "d"}, {"role": "assistant", "content": "e"}]})";
  expect_equal(learned_of(chat, "x.jsonl"), std::string("_______bc.______e."));
}

TEST("bad lines are errors that name them") {
  const auto error_of = [](const std::string& content, const std::string& message) {
    expect_error([&] { learned_of(content, "x.jsonl"); }, "\"" + folder().file("x.jsonl") + "\", line " + message);
  };
  error_of("{\"text\": \"a\"}\n[1]", "2: it is not a JSON object");
  error_of("{\"prompt\": \"a\"}", "1: \"completion\" must be a text");
  error_of("{}", "1: it has none of \"text\", \"prompt\" and \"messages\"");
  error_of(R"({"messages": [{"role": "user"}]})", "1: \"content\" must be a text");
}

TEST("each epoch has every block once, in another order") {
  hub::TrainingData data;
  for (int64_t i = 0; i < 41; ++i) {
    data.tokens.push_back(i);
    data.targets.push_back(i >= 9 && i <= 16 ? -100 : i);
  }
  hub::BlockSampler sampler(data, 8, 3), again(data, 8, 3);
  expect_equal(sampler.blocks(), int64_t{4});  // one has nothing to learn
  std::vector<int64_t> first, second;
  for (int64_t i = 0; i < 4; ++i) first.push_back(sampler.next(1).tokens[0]);
  for (int64_t i = 0; i < 4; ++i) second.push_back(sampler.next(1).tokens[0]);
  expect_different(first, second);
  expect_equal(again.next(4).tokens[8], first[1]);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  expect_equal(first, std::vector<int64_t>({0, 16, 24, 32}));
  expect_equal(second, first);
  const hub::TokenBatch batch = sampler.next(1);
  expect_equal(batch.targets[0], batch.tokens[0] + 1);
  expect_error([&] { hub::BlockSampler(data, 50, 0); },
               "the data have 41 tokens; --length 50 needs at least 51 with something to learn");
}
