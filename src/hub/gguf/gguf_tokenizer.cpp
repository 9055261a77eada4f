#include <algorithm>
#include <unordered_map>

#include <fulgurite/error.h>

#include "hub/gguf/gguf_model.h"
#include "io/json.h"
#include "support/text/text.h"
#include "support/text/utf8.h"

namespace fulgurite::hub::gguf {

namespace {

enum TokenType : int64_t { unknown = 2, control = 3, user_defined = 4 };

struct Vocabulary {
  std::vector<std::string> tokens;
  std::vector<int64_t> types;  // empty: all are normal
  int64_t type(size_t id) const { return id < types.size() ? types[id] : 1; }
};

Vocabulary vocabulary_of(const GgufFile& file) {
  Vocabulary out{file.strings("tokenizer.ggml.tokens"), file.integers("tokenizer.ggml.token_type")};
  if (out.tokens.empty()) throw UserError("the GGUF file has no tokens (tokenizer.ggml.tokens)");
  return out;
}

template <class Items, class Print>
std::string listed(const Items& items, const Print& print) {
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string item = print(i);
    if (item.empty()) continue;
    if (!out.empty()) out += ",\n";
    out += item;
  }
  return out;
}

std::string added_tokens(const Vocabulary& vocabulary) {
  return listed(vocabulary.tokens, [&](size_t id) -> std::string {
    const int64_t type = vocabulary.type(id);
    if (type != unknown && type != control && type != user_defined) return "";
    return text::cat("    {\"id\": ", id, ", \"content\": ", json::quote(vocabulary.tokens[id]),
                     R"(, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": )",
                     type == user_defined ? "false" : "true", "}");
  });
}

std::string vocabulary_text(const Vocabulary& vocabulary) {
  return listed(vocabulary.tokens,
                [&](size_t id) { return text::cat("      ", json::quote(vocabulary.tokens[id]), ": ", id); });
}

std::string merges_text(const std::vector<std::string>& merges) {
  return listed(merges, [&](size_t i) { return text::cat("      ", json::quote(merges[i])); });
}

// The pattern of LLaMA 3 and of Qwen, which differ in the digits of a token.
std::string split_by_pattern(std::string_view digits) {
  const std::string regex = text::cat(R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|)", digits,
                                      R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)");
  return text::cat(R"({"type": "Sequence", "pretokenizers": [)",
                   R"({"type": "Split", "behavior": "Isolated", "invert": false, "pattern": {"Regex": )",
                   json::quote(regex), R"(}}, {"type": "ByteLevel", "add_prefix_space": false, )",
                   R"("trim_offsets": true, "use_regex": false}]})");
}

constexpr const char* byte_level =
    R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true})";

// The steps before byte-level BPE.
struct Splitting {
  std::string normalizer, pre_tokenizer;
  bool ignores_merges = false;
};

Splitting splitting_of(const GgufFile& file) {
  const std::string name = file.string("tokenizer.ggml.pre", "gpt-2");
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (is_one_of({"gpt-2", "phi-2", "roberta-bpe"})) return {"null", byte_level};
  if (is_one_of({"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone"}))
    return {"null",
            text::cat(R"({"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": true}, )",
                      byte_level, "]}")};
  if (is_one_of({"llama-bpe", "llama3", "llama-v3", "falcon3"}))
    return {"null", split_by_pattern(R"(\p{N}{1,3})"), true};
  if (is_one_of({"qwen2", "deepseek-r1-qwen"})) return {R"({"type": "NFC"})", split_by_pattern(R"(\p{N})")};
  throw UserError(text::cat("the GGUF file's tokenizer.ggml.pre \"", printable(name),
                            "\" is not supported; there are gpt-2, smollm, starcoder, llama-bpe, qwen2 and their kin"));
}

// SentencePiece files have scores instead of merges: of two tokens that make a third, the one of the highest score is
// merged first.
std::vector<std::string> merges_of_scores(const std::vector<std::string>& tokens, const std::vector<double>& scores) {
  struct Merge {
    double score;
    std::string_view left, right;
    size_t left_id, right_id;
  };
  std::unordered_map<std::string_view, size_t> ids;
  for (size_t id = 0; id < tokens.size(); ++id) ids.emplace(tokens[id], id);
  std::vector<Merge> merges;
  for (size_t id = 0; id < tokens.size() && id < scores.size(); ++id) {
    const std::string_view token = tokens[id];
    for (size_t at = 1; at < token.size(); ++at) {
      const auto left = ids.find(token.substr(0, at)), right = ids.find(token.substr(at));
      if (left != ids.end() && right != ids.end())
        merges.push_back({scores[id], left->first, right->first, left->second, right->second});
    }
  }
  std::stable_sort(merges.begin(), merges.end(), [](const Merge& a, const Merge& b) {
    if (a.score != b.score) return a.score > b.score;
    return a.left_id != b.left_id ? a.left_id < b.left_id : a.right_id < b.right_id;
  });
  std::vector<std::string> out;
  out.reserve(merges.size());
  for (const Merge& merge : merges) out.push_back(text::cat(merge.left, " ", merge.right));
  return out;
}

std::string token_of_role(const GgufFile& file, const Vocabulary& vocabulary, std::string_view role) {
  const int64_t id = file.integer(text::cat("tokenizer.ggml.", role, "_token_id"), -1);
  return id < 0 || id >= static_cast<int64_t>(vocabulary.tokens.size()) ? ""
                                                                        : vocabulary.tokens[static_cast<size_t>(id)];
}

// The first token of every text, if the file says so.
std::string post_processor(const GgufFile& file, const Vocabulary& vocabulary, bool adds_by_default) {
  const std::string token = token_of_role(file, vocabulary, "bos");
  if (token.empty() || !file.boolean("tokenizer.ggml.add_bos_token", adds_by_default)) return "null";
  const std::string quoted = json::quote(token);
  const std::string special = text::cat(R"({"SpecialToken": {"id": )", quoted, R"(, "type_id": 0}})");
  return text::cat(R"({"type": "TemplateProcessing", "single": [)", special,
                   R"(, {"Sequence": {"id": "A", "type_id": 0}}], "pair": [)", special,
                   R"(, {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}], )",
                   R"("special_tokens": {)", quoted, R"(: {"id": )", quoted, R"(, "ids": [)",
                   file.integer("tokenizer.ggml.bos_token_id", 0), R"(], "tokens": [)", quoted, "]}}}");
}

struct Parts {
  std::string normalizer, pre_tokenizer, post_processor, decoder, model;
};

std::string joined(const Vocabulary& vocabulary, const Parts& parts) {
  return text::cat("{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n  \"added_tokens\": [\n",
                   added_tokens(vocabulary), "\n  ],\n  \"normalizer\": ", parts.normalizer,
                   ",\n  \"pre_tokenizer\": ", parts.pre_tokenizer, ",\n  \"post_processor\": ", parts.post_processor,
                   ",\n  \"decoder\": ", parts.decoder, ",\n  \"model\": ", parts.model, "\n}\n");
}

std::string bpe_text(const Vocabulary& vocabulary, const std::vector<std::string>& merges,
                     const std::string& settings) {
  return text::cat("{\n    \"type\": \"BPE\", \"dropout\": null, \"continuing_subword_prefix\": null, ",
                   "\"end_of_word_suffix\": null, ", settings, ",\n    \"vocab\": {\n", vocabulary_text(vocabulary),
                   "\n    },\n    \"merges\": [\n", merges_text(merges), "\n    ]\n  }");
}

std::string byte_level_tokenizer(const GgufFile& file, const Vocabulary& vocabulary) {
  const Splitting splitting = splitting_of(file);
  const std::string settings =
      text::cat(R"("unk_token": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": )",
                splitting.ignores_merges ? "true" : "false");
  return joined(vocabulary,
                {splitting.normalizer, splitting.pre_tokenizer, post_processor(file, vocabulary, false),
                 R"({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true})",
                 bpe_text(vocabulary, file.strings("tokenizer.ggml.merges"), settings)});
}

// As the files of LLaMA 2: spaces become U+2581, and characters without a token bytes.
std::string sentence_tokenizer(const GgufFile& file, const Vocabulary& vocabulary) {
  const std::string replace = R"({"type": "Replace", "pattern": {"String": " "}, "content": "▁"})";
  const bool has_prefix = file.boolean("tokenizer.ggml.add_space_prefix", true);
  const std::string strip = has_prefix ? R"(, {"type": "Strip", "content": " ", "start": 1, "stop": 0})" : "";
  const std::string unknown = token_of_role(file, vocabulary, "unknown");
  const std::string settings = text::cat(R"("unk_token": )", unknown.empty() ? "null" : json::quote(unknown),
                                         R"(, "fuse_unk": true, "byte_fallback": true, "ignore_merges": false)");
  return joined(
      vocabulary,
      {has_prefix
           ? text::cat(R"({"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, )", replace, "]}")
           : replace,
       "null", post_processor(file, vocabulary, true),
       text::cat(
           R"({"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, )",
           R"({"type": "ByteFallback"}, {"type": "Fuse"})", strip, "]}"),
       bpe_text(vocabulary, merges_of_scores(vocabulary.tokens, file.numbers("tokenizer.ggml.scores")), settings)});
}

}  // namespace

std::string tokenizer_text(const GgufFile& file) {
  const Vocabulary vocabulary = vocabulary_of(file);
  const std::string kind = file.string("tokenizer.ggml.model", "");
  if (kind == "gpt2") return byte_level_tokenizer(file, vocabulary);
  if (kind == "llama") return sentence_tokenizer(file, vocabulary);
  throw UserError(text::cat("the GGUF file's tokenizer.ggml.model \"", printable(kind),
                            "\" is not supported; there are gpt2 and llama"));
}

std::string tokenizer_config_text(const GgufFile& file) {
  const Vocabulary vocabulary = vocabulary_of(file);
  std::string out = "{\n  \"tokenizer_class\": \"PreTrainedTokenizerFast\",\n  \"clean_up_tokenization_spaces\": false";
  for (const auto& [role, name] : {std::pair{"bos", "bos"}, {"eos", "eos"}, {"unknown", "unk"}, {"padding", "pad"}})
    if (const std::string token = token_of_role(file, vocabulary, role); !token.empty())
      out += text::cat(",\n  \"", name, "_token\": ", json::quote(token));
  return out + "\n}\n";
}

std::string generation_config_text(const GgufFile& file) {
  std::string out;
  for (const auto& [role, name] : {std::pair{"bos", "bos"}, {"eos", "eos"}, {"padding", "pad"}})
    if (const int64_t id = file.integer(text::cat("tokenizer.ggml.", role, "_token_id"), -1); id >= 0)
      out += text::cat(out.empty() ? "" : ",", "\n  \"", name, "_token_id\": ", id);
  return "{" + out + "\n}\n";
}

}  // namespace fulgurite::hub::gguf
