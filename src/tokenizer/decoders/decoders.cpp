#include "tokenizer/decoders/decoder.h"

#include <cstdlib>

#include <fulgurite/error.h>

#include "support/text/text.h"
#include "support/text/utf8.h"
#include "tokenizer/byte_characters.h"
#include "tokenizer/component_json.h"
#include "tokenizer/pattern_json.h"
#include "tokenizer/unicode.h"

namespace fulgurite::tokenization {

namespace {

using Tokens = std::vector<std::string>;

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

class Sequence : public Decoder {
 public:
  explicit Sequence(const json::Node& component) {
    for (const json::Node& item : list_member(component, "decoders")) items_.push_back(make_decoder(item));
  }
  void decode(Tokens& tokens) const override {
    for (const auto& item : items_) item->decode(tokens);
  }

 private:
  std::vector<std::unique_ptr<const Decoder>> items_;
};

class ByteLevel : public Decoder {
 public:
  void decode(Tokens& tokens) const override {
    std::string bytes;
    for (const std::string& token : tokens) bytes += bytes_of(token).value_or(token);
    tokens = {repair_utf8(bytes)};
  }
};

class Replace : public Decoder {
 public:
  explicit Replace(const json::Node& component)
      : pattern_(read_pattern(component)), content_(string_member(component, "content", "")) {}
  void decode(Tokens& tokens) const override {
    for (std::string& token : tokens) {
      std::string out;
      size_t done = 0;
      pattern_.for_each_match(token, [&](size_t begin, size_t end) {
        out += token.substr(done, begin - done) + content_;
        done = end;
      });
      token = out + token.substr(done);
    }
  }

 private:
  Pattern pattern_;
  std::string content_;
};

class WordPiece : public Decoder {
 public:
  explicit WordPiece(const json::Node& component)
      : prefix_(string_member(component, "prefix", "##")), cleans_(bool_member(component, "cleanup", true)) {}
  void decode(Tokens& tokens) const override {
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (i > 0) tokens[i] = tokens[i].starts_with(prefix_) ? tokens[i].substr(prefix_.size()) : " " + tokens[i];
      if (cleans_) tokens[i] = clean(tokens[i]);
    }
  }

 private:
  static std::string clean(std::string text) {
    constexpr std::pair<std::string_view, std::string_view> changes[] = {
        {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
        {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
    for (const auto& [from, to] : changes) text = replace_all(std::move(text), from, to);
    return text;
  }
  std::string prefix_;
  bool cleans_;
};

// Runs of "<0x0A>" become characters; of a run that is not UTF-8 each byte becomes U+FFFD.
class ByteFallback : public Decoder {
 public:
  void decode(Tokens& tokens) const override {
    Tokens out;
    std::string bytes;
    const auto flush = [&] {
      if (bytes.empty()) return;
      if (is_utf8(bytes)) out.push_back(bytes);
      else out.insert(out.end(), bytes.size(), "\uFFFD");
      bytes.clear();
    };
    for (std::string& token : tokens) {
      if (const int byte = byte_of(token); byte >= 0) {
        bytes += static_cast<char>(byte);
      } else {
        flush();
        out.push_back(std::move(token));
      }
    }
    flush();
    tokens = std::move(out);
  }

 private:
  static int byte_of(const std::string& token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return -1;
    if (token.find_first_not_of("0123456789abcdefABCDEF", 3) != 5) return -1;
    return static_cast<int>(std::strtol(token.substr(3, 2).c_str(), nullptr, 16));
  }
};

class Fuse : public Decoder {
 public:
  void decode(Tokens& tokens) const override {
    std::string all;
    for (const std::string& token : tokens) all += token;
    tokens = {all};
  }
};

// Removes up to `start` copies of a character at a token's beginning, and `stop` at its end.
class Strip : public Decoder {
 public:
  explicit Strip(const json::Node& component)
      : content_(string_member(component, "content", " ")),
        start_(integer_member(component, "start", 0)),
        stop_(integer_member(component, "stop", 0)) {}
  void decode(Tokens& tokens) const override {
    for (std::string& token : tokens) {
      size_t begin = 0, end = token.size();
      for (int64_t i = 0; i < start_ && token.compare(begin, content_.size(), content_) == 0; ++i)
        begin += content_.size();
      for (int64_t i = 0; i < stop_ && end >= begin + content_.size(); ++i) {
        if (token.compare(end - content_.size(), content_.size(), content_) != 0) break;
        end -= content_.size();
      }
      token = token.substr(begin, end - begin);
    }
  }

 private:
  std::string content_;
  int64_t start_, stop_;
};

class Metaspace : public Decoder {
 public:
  explicit Metaspace(const json::Node& component) : replacement_(string_member(component, "replacement", "▁")) {
    const bool adds_space = bool_member(component, "add_prefix_space", true);
    removes_first_ = string_member(component, "prepend_scheme", adds_space ? "always" : "never") != "never";
  }
  void decode(Tokens& tokens) const override {
    for (size_t i = 0; i < tokens.size(); ++i) {
      std::string& token = tokens[i];
      const bool removes = i == 0 && removes_first_;
      const size_t begin = removes && token.starts_with(replacement_) ? replacement_.size() : 0;
      token = replace_all(token.substr(begin), replacement_, " ");
    }
  }

 private:
  std::string replacement_;
  bool removes_first_;
};

class BpeDecoder : public Decoder {
 public:
  explicit BpeDecoder(const json::Node& component) : suffix_(string_member(component, "suffix", "</w>")) {}
  void decode(Tokens& tokens) const override {
    for (size_t i = 0; i < tokens.size(); ++i)
      tokens[i] = replace_all(tokens[i], suffix_, i + 1 == tokens.size() ? "" : " ");
  }

 private:
  std::string suffix_;
};

// Joins what connectionist temporal classification repeats.
class Ctc : public Decoder {
 public:
  explicit Ctc(const json::Node& component)
      : pad_(string_member(component, "pad_token", "<pad>")),
        delimiter_(string_member(component, "word_delimiter_token", "|")),
        cleans_(bool_member(component, "cleanup", true)) {}
  void decode(Tokens& tokens) const override {
    Tokens out;
    const std::string* last = nullptr;
    for (const std::string& token : tokens) {
      if (last == nullptr || *last != token) {
        std::string text = replace_all(token, pad_, "");
        if (cleans_) text = replace_all(text, delimiter_, " ");
        if (!text.empty()) out.push_back(text);
      }
      last = &token;
    }
    tokens = std::move(out);
  }

 private:
  std::string pad_, delimiter_;
  bool cleans_;
};

}  // namespace

std::unique_ptr<const Decoder> make_decoder(const json::Node& component) {
  const std::string type = type_of(component, "decoder");
  if (type == "Sequence") return std::make_unique<Sequence>(component);
  if (type == "ByteLevel") return std::make_unique<ByteLevel>();
  if (type == "Replace") return std::make_unique<Replace>(component);
  if (type == "WordPiece") return std::make_unique<WordPiece>(component);
  if (type == "ByteFallback") return std::make_unique<ByteFallback>();
  if (type == "Fuse") return std::make_unique<Fuse>();
  if (type == "Strip") return std::make_unique<Strip>(component);
  if (type == "Metaspace") return std::make_unique<Metaspace>(component);
  if (type == "BPEDecoder") return std::make_unique<BpeDecoder>(component);
  if (type == "CTC") return std::make_unique<Ctc>(component);
  throw UserError(text::cat("there is no decoder of type \"", printable(type), "\""));
}

}  // namespace fulgurite::tokenization
