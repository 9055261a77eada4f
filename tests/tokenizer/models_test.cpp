#include <thread>

#include <fulgurite/error.h>

#include "support/test.h"
#include "tokenizer/byte_characters.h"
#include "tokenizer/tokenizer_text.h"
#include "tokenizer/unicode.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

Tokenizer with_model(const std::string& model, const std::map<std::string, std::string>& parts = {}) {
  return Tokenizer::from_json(tokenizer_text(model, parts));
}

}  // namespace

TEST("BPE merges the lowest rank first, and of equal ranks the leftmost") {
  const Tokenizer tokenizer =
      with_model(R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "aa": 5},
                                             "merges": ["b c", ["a", "b"], "a a"]})");
  expect_equal(tokens_of(tokenizer, "abc"), "a|bc");
  expect_equal(tokens_of(tokenizer, "abab"), "ab|ab");
  expect_equal(tokens_of(tokenizer, "aaa"), "aa|a");
  expect_equal(tokens_of(tokenizer, "axb"), "ab");  // x is dropped: there is no unknown token
}

TEST("long words are merged as short ones") {
  const Tokenizer tokenizer = with_model(R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "abab": 3, "ba": 4},
                                             "merges": ["a b", "ab ab", "b a"]})");
  std::string text, expected;
  for (int i = 0; i < 50; ++i) {
    text += "abab";
    expected += i == 0 ? "abab" : "|abab";
  }
  expect_equal(tokens_of(tokenizer, text), expected);
  expect_equal(tokens_of(tokenizer, text + "b"), expected + "|b");
}

// A tokenizer remembers the division of words: more words than it has room for, from several threads.
TEST("threads share the words that a tokenizer has divided") {
  const std::string bpe = R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "aa": 5},
                              "merges": ["b c", "a b", "a a"]})";
  const std::string unigram = R"({"type": "Unigram", "unk_id": 0, "vocab": [["?", 0], ["a", -1], ["b", -1.5], ["c", -2],
                                  ["ab", -2], ["bc", -3.2], ["cab", -3.9]]})";
  std::vector<std::string> words;
  for (int number = 0; number < 3000; ++number) {
    std::string word;
    for (int rest = number + 1; rest > 0; rest /= 3) word += static_cast<char>('a' + rest % 3);
    words.push_back(word);
  }
  for (const std::string& model : {bpe, unigram}) {
    std::vector<std::string> expected;
    for (const std::string& word : words) expected.push_back(tokens_of(with_model(model), word));
    const Tokenizer shared = with_model(model);
    std::vector<std::string> found[4];
    std::vector<std::thread> threads;
    for (auto& out : found)
      threads.emplace_back([&] {
        for (int round = 0; round < 3; ++round) {
          out.clear();
          for (const std::string& word : words) out.push_back(tokens_of(shared, word));
        }
      });
    for (std::thread& thread : threads) thread.join();
    for (const auto& out : found) expect(out == expected, model);
  }
}

TEST("BPE writes unknown characters as bytes, or as unknown tokens that are fused") {
  const std::string vocab = R"("vocab": {"<unk>": 0, "a": 1, "<0xC3>": 2, "<0xA9>": 3}, "merges": [])";
  const Tokenizer bytes = with_model(R"({"type": "BPE", "unk_token": "<unk>", "byte_fallback": true, )" + vocab + "}");
  expect_equal(tokens_of(bytes, "aéa"), "a|<0xC3>|<0xA9>|a");
  expect_equal(tokens_of(bytes, "aèè"), "a|<unk>|<unk>");
  const Tokenizer fused = with_model(R"({"type": "BPE", "unk_token": "<unk>", "fuse_unk": true, )" + vocab + "}");
  expect_equal(tokens_of(fused, "xxaéz"), "<unk>|a|<unk>");
  expect_equal(offsets_of(fused, "xxaéz"), "0-2 2-3 3-5");
}

TEST("BPE of bytes has tokens in the characters of bytes") {
  const Tokenizer tokenizer =
      with_model(R"({"type": "BPE", "vocab": {"a": 0, "Ġ": 1, "Ã": 2, "©": 3, "Ġa": 4}, "merges": ["Ġ a"]})",
                 {{"pre_tokenizer", R"({"type": "ByteLevel", "add_prefix_space": false})"},
                  {"decoder", R"({"type": "ByteLevel"})"}});
  expect_equal(tokens_of(tokenizer, "a aé"), "a|Ġa|Ã|©");
  expect_equal(offsets_of(tokenizer, "a aé"), "0-1 1-3 3-4 3-4");
  expect_equal(tokenizer.decode({0, 4, 2, 3}), "a aé");
  expect_equal(tokenizer.decode({0, 2, 4}), "a\uFFFD a");
}

TEST("offsets behind a byte without a token are counted in the characters of bytes") {
  const Tokenizer tokenizer =
      with_model(R"({"type": "BPE", "vocab": {"a": 0, "d": 1, "e": 2, "ad": 3}, "merges": ["a d"]})",
                 {{"pre_tokenizer", R"({"type": "ByteLevel", "add_prefix_space": false})"}});
  expect_equal(tokens_of(tokenizer, "açade"), "a|ad|e");
  expect_equal(offsets_of(tokenizer, "açade"), "0-1 1-2 1-2");
  expect_equal(offsets_of(tokenizer, "a_de"), "0-1 2-3 3-4");
}

TEST("BPE with a token for each byte merges bytes") {
  std::string vocab;
  for (int byte = 0; byte < 256; ++byte) {
    std::string character;
    tokenization::append(character, tokenization::character_of(static_cast<unsigned char>(byte)));
    if (byte == '"' || byte == '\\') character.insert(0, 1, '\\');
    vocab += "\"" + character + "\": " + std::to_string(byte) + ", ";
  }
  const Tokenizer tokenizer =
      with_model(R"({"type": "BPE", "vocab": {)" + vocab + R"("Ã©": 256, "Ġa": 257}, "merges": ["Ġ a", "Ã ©"]})",
                 {{"pre_tokenizer", R"({"type": "ByteLevel", "add_prefix_space": false})"},
                  {"decoder", R"({"type": "ByteLevel"})"}});
  expect_equal(tokens_of(tokenizer, "a aéç\"\\"), "a|Ġa|Ã©|Ã|§|\"|\\");
  expect_equal(offsets_of(tokenizer, "a aéç"), "0-1 1-3 3-4 4-5 4-5");
  expect_equal(tokenizer.decode(tokenizer.encode("a aéç").ids), "a aéç");
}

TEST("WordPiece takes the longest tokens, and unknown words whole") {
  const Tokenizer tokenizer = with_model(
      R"({"type": "WordPiece", "max_input_chars_per_word": 6, "vocab": {"[UNK]": 0, "un": 1, "unaf": 2, "##aff": 3, "##able": 4, "##fa": 5, "##ble": 6}})",
      {{"pre_tokenizer", R"({"type": "WhitespaceSplit"})"}, {"decoder", R"({"type": "WordPiece"})"}});
  expect_equal(tokens_of(tokenizer, "unaff unable un"), "[UNK]|un|##able|un");
  expect_equal(tokens_of(tokenizer, "unaffable"), "[UNK]");
  expect_equal(tokenizer.decode({1, 4, 1}), "unable un");
}

TEST("Unigram finds the division of the highest score") {
  const Tokenizer tokenizer = with_model(
      R"({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["a", -2], ["b", -2], ["ab", -3], ["aba", -3.5], ["bb", -9]]})");
  expect_equal(tokens_of(tokenizer, "ab"), "ab");
  expect_equal(tokens_of(tokenizer, "abab"), "aba|b");
  expect_equal(tokens_of(tokenizer, "abaxyb"), "aba|<unk>|b");
  expect_equal(offsets_of(tokenizer, "abaxyb"), "0-3 3-5 5-6");
  for (int call = 0; call < 2; ++call) {  // the division of a token's own text is kept
    expect_equal(tokens_of(tokenizer, "ab"), "ab");
    expect_equal(tokens_of(tokenizer, "bb"), "b|b");
  }
}

TEST("models that cannot be read are refused") {
  expect_error([] { with_model(R"({"type": "Markov"})"); }, R"(model: there is no model of type "Markov")");
  expect_error([] { with_model(R"({"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]})"); },
               R"(model: a merge has the token "b", which is not in the vocabulary)");
  expect_error([] { with_model(R"({"type": "BPE", "vocab": {"a": 0}, "merges": ["a"]})"); },
               R"(model: a merge must be "a b" or ["a", "b"])");
  expect_error([] { with_model(R"({"type": "BPE", "vocab": {"a": -1}, "merges": []})"); },
               R"(the token "a" has the id -1; ids are from 0 to 100000000)");
  expect_error([] { with_model(R"({"type": "BPE", "vocab": {"a": 1e300}, "merges": []})"); },
               "has an id that is not a whole number");
  expect_error([] { with_model(R"({"type": "WordPiece", "vocab": []})"); }, "the model has no \"vocab\"");
  expect_error([] { with_model(R"({"type": "Unigram", "vocab": [["a"]]})"); }, "must be a list of [token, score]");
  expect_error([] { with_model(R"({"type": "Unigram", "unk_id": 5, "vocab": [["a", 0]]})"); },
               "\"unk_id\" is 5, but there are 1 tokens");
  expect_error([] { Tokenizer::from_json("{}"); }, "there is no \"model\"");
  expect_error([] { Tokenizer::from_json("{"); }, "not JSON");
}

TEST("texts that a model cannot encode are errors") {
  const Tokenizer words = with_model(R"({"type": "WordLevel", "unk_token": "?", "vocab": {"a": 0}})");
  expect_error([&] { words.encode("b"); }, R"("b" is not a token, and there is no unknown token)");
  expect_error([&] { words.encode("\xff"); }, "encode: the text is not UTF-8");
  const Tokenizer unigram = with_model(R"({"type": "Unigram", "vocab": [["a", -1]]})");
  expect_error([&] { unigram.encode("b"); }, "the Unigram model has no \"unk_id\"");
  expect_equal(words.encode("").ids.size(), 0u);
}
