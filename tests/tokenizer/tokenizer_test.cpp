#include <fstream>

#include <fulgurite/error.h>

#include "io/test_folder.h"
#include "support/test.h"
#include "tokenizer/tokenizer_text.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

const std::string letters =
    R"({"type": "BPE", "vocab": {"a": 0, "b": 1, " ": 2, "c": 3, "A": 4, "B": 5}, "merges": []})";
const std::string specials =
    R"([{"id": 10, "content": "<s>", "special": true}, {"id": 11, "content": "</s>", "special": true}])";

Tokenizer with_added(const std::string& added, const std::map<std::string, std::string>& more = {}) {
  std::map<std::string, std::string> parts = more;
  parts["added_tokens"] = added;
  return Tokenizer::from_json(tokenizer_text(letters, parts));
}

}  // namespace

TEST("added tokens are found before the text is split, the longest first") {
  const Tokenizer tokenizer = with_added(R"([{"id": 7, "content": "ab"}, {"id": 8, "content": "abc"}])");
  expect_equal(tokens_of(tokenizer, "aabcab"), "a|abc|ab");
  expect_equal(offsets_of(tokenizer, "aabcab"), "0-1 1-4 4-6");
}

TEST("added tokens may take spaces, or be words of their own") {
  const Tokenizer tokenizer = with_added(
      R"([{"id": 7, "content": "x", "lstrip": true}, {"id": 8, "content": "y", "rstrip": true}, {"id": 9, "content": "z", "single_word": true}])");
  expect_equal(offsets_of(tokenizer, "a  xb"), "0-1 1-4 4-5");
  expect_equal(offsets_of(tokenizer, "ay  b"), "0-1 1-4 4-5");
  expect_equal(tokens_of(tokenizer, "z az z"), "z| |a| |z");
}

TEST("normalized added tokens are found in the normalized text") {
  const Tokenizer tokenizer =
      with_added(R"([{"id": 7, "content": "AB"}, {"id": 8, "content": "BA", "normalized": false}])",
                 {{"normalizer", R"({"type": "Lowercase"})"}});
  expect_equal(tokens_of(tokenizer, "aB"), "AB");
  expect_equal(tokens_of(tokenizer, "ba"), "b|a");
  expect_equal(tokens_of(tokenizer, "BA"), "BA");
}

TEST("templates add special tokens, types and second texts") {
  const Tokenizer tokenizer = with_added(specials, {{"post_processor", R"({"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
      "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 1}}, {"Sequence": {"id": "B", "type_id": 1}}],
      "special_tokens": {"<s>": {"id": "<s>", "ids": [10], "tokens": ["<s>"]}, "</s>": {"id": "</s>", "ids": [11], "tokens": ["</s>"]}}})"}});
  const Encoding one = tokenizer.encode("ab");
  expect_equal(one.ids, std::vector<int64_t>{10, 0, 1});
  expect_equal(one.special_tokens_mask, std::vector<bool>{true, false, false});
  expect_equal(tokenizer.encode("ab", {.add_special_tokens = false}).ids, std::vector<int64_t>{0, 1});
  expect_equal(tokenizer.encode("abc", {.max_length = 2}).ids, std::vector<int64_t>{10, 0, 1});
  const Encoding two = tokenizer.encode("ab", "c");
  expect_equal(two.ids, std::vector<int64_t>{0, 1, 11, 3});
  expect_equal(two.type_ids, std::vector<int64_t>{0, 0, 1, 1});
  expect(two.offsets.back() == std::pair<int64_t, int64_t>{0, 1});
}

TEST("BERT and RoBERTa put tokens around texts") {
  const auto process = [](const std::string& type) {
    const Tokenizer tokenizer = with_added(
        specials, {{"post_processor", R"({"type": ")" + type + R"(", "cls": ["<s>", 10], "sep": ["</s>", 11]})"}});
    return tokenizer.encode("a", "b");
  };
  expect_equal(process("BertProcessing").ids, std::vector<int64_t>{10, 0, 11, 1, 11});
  expect_equal(process("BertProcessing").type_ids, std::vector<int64_t>{0, 0, 0, 1, 1});
  expect_equal(process("RobertaProcessing").ids, std::vector<int64_t>{10, 0, 11, 11, 1, 11});
  expect_equal(process("RobertaProcessing").type_ids, std::vector<int64_t>(6, 0));
}

TEST("decoding skips special tokens unless an option keeps them") {
  const Tokenizer tokenizer = with_added(specials, {{"decoder", R"({"type": "Fuse"})"}});
  expect_equal(tokenizer.decode({10, 0, 1, 11, 99}), "ab");
  expect_equal(tokenizer.decode({10, 0, 1, 11}, {.skip_special_tokens = false}), "<s>ab</s>");
}

TEST("each decoder") {
  const auto decoded = [](const std::string& decoder, const std::vector<std::string>& tokens) {
    std::string vocab;
    std::vector<int64_t> ids;
    for (const std::string& token : tokens) {
      vocab += (vocab.empty() ? "\"" : ", \"") + token + "\": " + std::to_string(ids.size());
      ids.push_back(static_cast<int64_t>(ids.size()));
    }
    const std::string model = R"({"type": "WordLevel", "vocab": {)" + vocab + "}}";
    return Tokenizer::from_json(tokenizer_text(model, {{"decoder", decoder}})).decode(ids);
  };
  expect_equal(decoded("null", {"a", "b"}), "a b");
  expect_equal(decoded(R"({"type": "WordPiece"})", {"it", "'", "##s", "do", "not", "."}), "it 's do not.");
  expect_equal(decoded(R"({"type": "Metaspace"})", {"▁a", "b", "▁c"}), "ab c");
  expect_equal(decoded(R"({"type": "BPEDecoder"})", {"a", "b</w>", "c</w>"}), "ab c");
  expect_equal(decoded(R"({"type": "ByteFallback"})", {"a", "<0xC3>", "<0xA9>", "b", "<0xC4>"}), "aéb\uFFFD");
  expect_equal(decoded(R"({"type": "CTC"})", {"a", "<pad>", "|", "b"}), "a b");
  expect_equal(
      decoded(R"({"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
      {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})",
              {"▁a", "▁b"}),
      "a b");
}

TEST("a stream shows whole characters, and what is held back at its end") {
  const Tokenizer tokenizer =
      Tokenizer::from_json(tokenizer_text(R"({"type": "BPE", "vocab": {"a": 0, "Ã": 1, "©": 2, "Ġ": 3}, "merges": []})",
                                          {{"pre_tokenizer", R"({"type": "ByteLevel", "add_prefix_space": false})"},
                                           {"decoder", R"({"type": "ByteLevel"})"},
                                           {"added_tokens", specials}}));
  TextStream stream(tokenizer);
  std::vector<std::string> shown;
  for (const int64_t id : {0, 1, 2, 10, 3, 0, 1}) shown.push_back(stream.put(id));
  shown.push_back(stream.finish());
  expect_equal(shown, std::vector<std::string>{"a", "", "é", "", " ", "a", "", "\uFFFD"});
}

TEST("a folder gives the tokenizer and the roles of special tokens") {
  const TestFolder folder;
  std::ofstream(folder.file("tokenizer.json")) << tokenizer_text(letters, {{"added_tokens", specials}});
  std::ofstream(folder.file("tokenizer_config.json"))
      << R"({"bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": false}, "pad_token": null, "x": 1})";
  const Tokenizer tokenizer = Tokenizer::load(folder.path);
  expect_equal(tokenizer.special_token("bos_token").value(), "<s>");
  expect_equal(tokenizer.token_to_id(tokenizer.special_token("eos_token").value()).value(), 11);
  expect(!tokenizer.special_token("pad_token") && !tokenizer.token_to_id("nothing") && !tokenizer.id_to_token(50));
  expect_equal(tokenizer.vocabulary_size(), 12);
  expect_equal(Tokenizer::load(folder.file("tokenizer.json")).encode("ab").ids, std::vector<int64_t>{0, 1});
}

TEST("files that cannot be read are named") {
  const TestFolder folder;
  expect_error([&] { Tokenizer::load(folder.path); }, "\"" + folder.path + "/tokenizer.json\" cannot be read");
  std::ofstream(folder.file("tokenizer.json")) << R"({"model": {"type": "Odd"}})";
  expect_error([&] { Tokenizer::load(folder.path); },
               "\"" + folder.path + "/tokenizer.json\": model: there is no model of type \"Odd\"");
  expect_error([] { with_added(R"([{"id": 1}])"); }, "added_tokens: an added token needs \"content\" and \"id\"");
  expect_error([] { with_added(R"([{"id": 7, "content": "x"}, {"id": 7, "content": "y"}])"); },
               "two added tokens have the id 7");
}
