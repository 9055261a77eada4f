#include <fulgurite/error.h>

#include "support/test.h"
#include "tokenizer/pattern.h"
#include "tokenizer/tokenizer_text.h"
#include "tokenizer/unicode.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

// A model whose tokens are characters, for tests of normalizers.
std::string normalized(const std::string& normalizer, std::string_view text) {
  static const std::string characters = [] {
    std::string vocab;
    int id = 0;
    for (const char* c : {"a", "b", "e", "i", "A", " ", "é", "\u0301", "\u0307", "f", "▁", "中", "x"}) {
      vocab += (id ? ", \"" : "\"") + std::string(c) + "\": " + std::to_string(id);
      ++id;
    }
    return R"({"type": "BPE", "merges": [], "vocab": {)" + vocab + "}}";
  }();
  const Tokenizer tokenizer = Tokenizer::from_json(tokenizer_text(characters, {{"normalizer", normalizer}}));
  return tokens_of(tokenizer, text) + " " + offsets_of(tokenizer, text);
}

std::string words(const std::string& pre_tokenizer, std::string_view text) {
  return words_of({{"pre_tokenizer", pre_tokenizer}}, text);
}

}  // namespace

TEST("normalizers change the text and keep the origin of each character") {
  expect_equal(normalized(R"({"type": "NFC"})", "ae\u0301a"), "a|é|a 0-1 1-2 3-4");
  expect_equal(normalized(R"({"type": "NFD"})", "aéa"), "a|e|\u0301|a 0-1 1-2 1-2 2-3");
  expect_equal(normalized(R"({"type": "NFKC"})", "aﬁ"), "a|f|i 0-1 1-2 1-2");
  expect_equal(normalized(R"({"type": "Lowercase"})", "Aİ"), "a|i|\u0307 0-1 1-2 1-2");
  expect_equal(normalized(R"({"type": "Strip"})", " ab  "), "a|b 1-2 2-3");
  expect_equal(normalized(R"({"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}]})", "éb"),
               "e|b 0-1 1-2");
  expect_equal(normalized(R"({"type": "Replace", "pattern": {"String": " "}, "content": "▁"})", "a b"),
               "a|▁|b 0-1 1-2 2-3");
  expect_equal(normalized(R"({"type": "Replace", "pattern": {"Regex": "x+"}, "content": "b"})", "axxa"),
               "a|b|a 0-1 2-3 3-4");
  expect_equal(normalized(R"({"type": "Prepend", "prepend": "▁"})", "ab"), "▁|a|b 0-1 0-1 1-2");
  expect_equal(normalized(R"({"type": "BertNormalizer"})", "É\t中"), "e| | |中|  0-1 1-2 2-3 2-3 2-3");
}

TEST("pre-tokenizers split texts") {
  expect_equal(words(R"({"type": "WhitespaceSplit"})", "ab  c"), "0-2 4-5");
  expect_equal(words(R"({"type": "Whitespace"})", "a_b, c!?"), "0-3 3-4 5-6 6-8");
  expect_equal(words(R"({"type": "BertPreTokenizer"})", "a,b c"), "0-1 1-2 2-3 4-5");
  expect_equal(words(R"({"type": "Digits", "individual_digits": true})", "a12"), "0-1 1-2 2-3");
  expect_equal(words(R"({"type": "Digits"})", "a12"), "0-1 1-3");
  expect_equal(words(R"({"type": "Metaspace", "prepend_scheme": "always"})", "ab c"), "0-2 2-4");
  expect_equal(words(R"({"type": "FixedLength", "length": 2})", "aécde"), "0-2 2-4 4-5");
  expect_equal(words(R"({"type": "CharDelimiterSplit", "delimiter": "-"})", "a-b--c"), "0-1 2-3 5-6");
  expect_equal(words(R"({"type": "ByteLevel", "add_prefix_space": false})", "it's  a1!"), "0-2 2-4 4-5 5-7 7-8 8-9");
}

TEST("each behavior of a split") {
  const auto split = [](const std::string& behavior) {
    return words(R"({"type": "Split", "pattern": {"String": "-"}, "behavior": ")" + behavior + "\"}", "-a--b");
  };
  expect_equal(split("Removed"), "1-2 4-5");
  expect_equal(split("Isolated"), "0-1 1-2 2-3 3-4 4-5");
  expect_equal(split("MergedWithPrevious"), "0-1 1-3 3-4 4-5");
  expect_equal(split("MergedWithNext"), "0-2 2-3 3-5");
  expect_equal(split("Contiguous"), "0-1 1-2 2-4 4-5");
}

TEST("regular expressions have the classes of Oniguruma") {
  using tokenization::pcre2_syntax;
  expect_equal(pcre2_syntax(R"([\p{Han}\]a]\w)"), R"([\p{sc:Han}\]a][\p{L}\p{M}\p{N}\p{Pc}])");
  expect_equal(pcre2_syntax(R"([]\w]\p{L}\\s)"), R"([]\p{L}\p{M}\p{N}\p{Pc}]\p{L}\\s)");
  const auto space = R"({"type": "Split", "pattern": {"Regex": "\\s"}, "behavior": "Removed"})";
  expect_equal(words(space, "a\u180Eb\u3000c"), "0-3 4-5");
}

TEST("regular expressions that are wrong or need too many steps are errors") {
  const auto split = [](const std::string& regex) {
    return R"({"type": "Split", "behavior": "Isolated", "pattern": {"Regex": ")" + regex + "\"}}";
  };
  expect_error([&] { words(split("(a"), "a"); },
               "pre_tokenizer: the regular expression (a is not valid or not supported: missing closing parenthesis at "
               "position 2");
  std::string slow(40, 'a');
  slow.push_back('b');
  expect_error([&] { words(split("(a+)+$"), slow); },
               "the regular expression (a+)+$ cannot be matched with a text of 41 bytes: match limit exceeded");
}

TEST("components that there are not are errors") {
  expect_error([] { words(R"({"type": "Magic"})", ""); },
               R"(pre_tokenizer: there is no pre-tokenizer of type "Magic")");
  expect_error([] { words(R"({})", ""); }, R"(pre_tokenizer: a pre-tokenizer has no "type")");
  expect_error(
      [] { words(R"({"type": "Split", "behavior": "Odd", "pattern": {"String": "a"}})", ""); },
      "there is no split behavior \"Odd\"; there are Removed, Isolated, MergedWithPrevious, MergedWithNext and "
      "Contiguous");
  expect_error([] { words(R"({"type": "Split", "behavior": "Removed"})", ""); },
               "\"pattern\" must be {\"String\": …} or {\"Regex\": …}");
  expect_error([] { normalized(R"({"type": "Magic"})", ""); }, R"(normalizer: there is no normalizer of type "Magic")");
  expect_error([] { normalized(R"({"type": "Precompiled", "precompiled_charsmap": "AA=="})", ""); },
               "normalizer: \"precompiled_charsmap\" is truncated");
}

TEST("invalid UTF-8 is repaired as Rust does it") {
  using tokenization::repair_utf8;
  expect_equal(repair_utf8("a\xe4\xb8z"), "a\uFFFDz");
  expect_equal(repair_utf8("\xf0\x9f\x98"), "\uFFFD");
  expect_equal(repair_utf8("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");
  expect_equal(repair_utf8("\xff\xc3\xa9"), "\uFFFDé");
}

TEST("code points that are newer than the reference's tables are neither sorted nor decomposed") {
  const auto normalized = [&](const std::string& form, const std::string& text) {
    const Tokenizer tokenizer = Tokenizer::from_json(
        tokenizer_text(R"({"type": "WordLevel", "unk_token": "x", "vocab": {"x": 0, ")" + text + "\": 1}}",
                       {{"normalizer", R"({"type": ")" + form + "\"}"}}));
    return tokenizer.encode(text).ids.at(0);
  };
  expect_equal(normalized("NFD", "a\u0345\u1ACC"), int64_t{1});  // U+1ACC of Unicode 14
  expect_equal(normalized("NFD", "a\u0345\u0301"), int64_t{0});  // sorted
  expect_equal(normalized("NFKD", "\uA7F3"), int64_t{1});        // U+A7F3 of Unicode 14
  expect_equal(normalized("NFKD", "\u2131"), int64_t{0});        // F
}
