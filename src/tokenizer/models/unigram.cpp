#include <algorithm>
#include <atomic>
#include <limits>

#include <fulgurite/error.h>

#include "support/containers/small_vector.h"
#include "support/text/text.h"
#include "support/text/utf8.h"
#include "tokenizer/component_json.h"
#include "tokenizer/models/model.h"
#include "tokenizer/models/trie.h"
#include "tokenizer/models/word_cache.h"
#include "tokenizer/unicode.h"

namespace fulgurite::tokenization {

namespace {

constexpr double unknown_penalty = 10;

// The division of a word whose tokens have the highest sum of scores (Kudo 2018), found by dynamic programming.
class Unigram : public Model {
 public:
  explicit Unigram(const json::Node& component)
      : unknown_id_(integer_member(component, "unk_id", -1)),
        has_byte_fallback_(bool_member(component, "byte_fallback", false)) {
    for (const json::Node& entry : list_member(component, "vocab")) {
      using Kind = json::Node::Kind;
      if (!entry.is(Kind::array) || entry.items.size() != 2 || !entry.items[0].is(Kind::string) ||
          !entry.items[1].is_number())
        throw UserError("\"vocab\" of a Unigram model must be a list of [token, score]");
      const std::string& token = entry.items[0].string;
      vocabulary_.add(token, static_cast<int64_t>(scores_.size()));
      scores_.push_back(entry.items[1].floating);
      min_score_ = std::min(min_score_, scores_.back());
    }
    trie_ = Trie(vocabulary_.all());
    cache_ = std::make_unique<WordCache>(vocabulary_.size());
    is_whole_ = std::vector<std::atomic<bool>>(static_cast<size_t>(vocabulary_.end()));
    if (unknown_id_ >= static_cast<int64_t>(scores_.size()))
      throw UserError(text::cat("\"unk_id\" is ", unknown_id_, ", but there are ", scores_.size(), " tokens"));
  }

  void tokenize(std::string_view word, std::vector<Token>& out) const override {
    const int64_t whole = vocabulary_.find(word);
    std::atomic<bool>* const is_whole = whole < 0 ? nullptr : &is_whole_[static_cast<size_t>(whole)];
    if (is_whole != nullptr && is_whole->load(std::memory_order_relaxed))
      return out.push_back({whole, 0, static_cast<uint32_t>(word.size())});
    if (cache_->append(word, 0, out)) return;
    const size_t before = out.size();
    divide(word, out);
    if (is_whole != nullptr && out.size() == before + 1 && out.back().id == whole)
      is_whole->store(true, std::memory_order_relaxed);
    else cache_->keep(word, 0, std::span(out).subspan(before));
  }

 private:
  void divide(std::string_view word, std::vector<Token>& out) const {
    const Divisions best = best_divisions(word);
    SmallVector<Token, 16> reversed;
    for (size_t end = word.size(); end > 0; end = best[end].begin) {
      const bool joins = best[end].id == unknown_id_ && !reversed.empty() && reversed.back().id == unknown_id_;
      if (joins) reversed.back().begin = static_cast<uint32_t>(best[end].begin);
      else reversed.push_back({best[end].id, static_cast<uint32_t>(best[end].begin), static_cast<uint32_t>(end)});
    }
    for (size_t i = reversed.size(); i-- > 0;) add(word, reversed[i], out);
  }

  // The best division of a beginning: its score and its last token.
  struct Best {
    double score = -std::numeric_limits<double>::infinity();
    size_t begin = 0;
    int64_t id = -1;
  };

  using Divisions = SmallVector<Best, 32>;  // by their end
  Divisions best_divisions(std::string_view word) const {
    Divisions best(word.size() + 1);
    best[0].score = 0;
    for (size_t begin = 0; begin < word.size();) {
      size_t behind = begin;
      next(word, behind);
      const size_t first_end = behind;
      bool has_single = false;
      const double before = best[begin].score;
      uint32_t node = Trie::root;
      for (size_t end = begin; end < word.size();) {
        node = trie_.child(node, word[end++]);
        if (node == Trie::none) break;
        const int64_t id = trie_.id(node);
        if (id < 0) continue;
        improve(best[end], before + scores_[static_cast<size_t>(id)], begin, id);
        has_single = has_single || end == first_end;
      }
      if (!has_single) improve_unknown(best[first_end], before, begin);
      begin = first_end;
    }
    return best;
  }
  static void improve(Best& best, double score, size_t begin, int64_t id) {
    if (best.id < 0 || score > best.score) best = {score, begin, id};
  }
  void improve_unknown(Best& best, double before, size_t begin) const {
    if (unknown_id_ < 0)
      throw UserError("a character is not in the vocabulary, and the Unigram model has no \"unk_id\"");
    improve(best, before + min_score_ - unknown_penalty, begin, unknown_id_);
  }

  // Bytes in the place of an unknown token, if the vocabulary has all of them.
  void add(std::string_view word, const Token& token, std::vector<Token>& out) const {
    if (token.id != unknown_id_) return out.push_back(token);
    const std::string_view unknown = word.substr(token.begin, token.end - token.begin);
    const int64_t whole = vocabulary_.find(unknown);
    std::vector<Token> bytes;
    for (const char c : unknown) {
      const int64_t id = has_byte_fallback_ ? vocabulary_.find(byte_token(static_cast<unsigned char>(c))) : -1;
      if (id >= 0) bytes.push_back({id, token.begin, token.end});
    }
    if (whole < 0 && bytes.size() == unknown.size()) out.insert(out.end(), bytes.begin(), bytes.end());
    else out.push_back({whole >= 0 ? whole : token.id, token.begin, token.end});
  }

  std::vector<double> scores_;
  int64_t unknown_id_;
  bool has_byte_fallback_;
  double min_score_ = std::numeric_limits<double>::infinity();
  Trie trie_;
  // By token: true once its own text, as which most words of a text occur, was found not to be divided.
  mutable std::vector<std::atomic<bool>> is_whole_;
  std::unique_ptr<WordCache> cache_;  // of words that are divided
};

}  // namespace

std::unique_ptr<const Model> make_unigram(const json::Node& component) { return std::make_unique<Unigram>(component); }

}  // namespace fulgurite::tokenization
