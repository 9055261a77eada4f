#include "ops/linalg/einsum_equation.h"

#include <algorithm>
#include <optional>

namespace fulgurite {
namespace {

constexpr int letters = 52, ellipsis = -1;

int label_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  return c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

/// Reads an equation from left to right, ignoring spaces.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  /// The labels up to ",", "->" or the end, with `ellipsis` for "...".
  std::vector<int> labels() {
    std::vector<int> out;
    bool has_ellipsis = false;
    while (skip_spaces(), at_ < text_.size() && text_[at_] != ',' && !is_arrow()) {
      if (text_[at_] == '.') {
        require(text_.substr(at_, 3) == "...", "there is a '.' at index ", at_, " of the equation \"", text_,
                "\" that is not part of \"...\"");
        require(!has_ellipsis, "there is a second \"...\" at index ", at_, " of the equation \"", text_,
                "\" for one operand");
        has_ellipsis = true;
        out.push_back(ellipsis);
        at_ += 3;
        continue;
      }
      const int label = label_of(text_[at_]);
      require(label >= 0, "subscripts are letters, got '", std::string(1, text_[at_]), "' at index ", at_,
              " of the equation \"", text_, "\"");
      out.push_back(label);
      ++at_;
    }
    return out;
  }
  bool take_comma() { return take(","); }
  bool take_arrow() { return take("->"); }
  bool is_at_end() const { return at_ == text_.size(); }
  size_t place() const { return at_; }

 private:
  bool is_arrow() const { return text_.substr(at_, 2) == "->"; }
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  std::string_view text_;
  size_t at_ = 0;
};

/// The number of dimensions that an ellipsis covers in an operand.
int64_t ellipsis_rank(const std::vector<int>& labels, const Tensor& operand, size_t number) {
  bool has_ellipsis = false;
  for (const int label : labels) has_ellipsis = has_ellipsis || label == ellipsis;
  const int64_t named = static_cast<int64_t>(labels.size()) - has_ellipsis;
  require(has_ellipsis ? named <= operand.ndim() : named == operand.ndim(), "operand ", number, " of shape ",
          operand.shape(), " has ", operand.ndim(), " dimensions, its subscripts name ", named);
  return operand.ndim() - named;
}

/// Replaces an ellipsis by the labels of the last `rank` of `widest` dimensions.
std::vector<int> spelled_out(const std::vector<int>& labels, int64_t rank, int64_t widest) {
  std::vector<int> out;
  for (const int label : labels) {
    if (label != ellipsis) out.push_back(label);
    else
      for (int64_t i = widest - rank; i < widest; ++i) out.push_back(letters + static_cast<int>(i));
  }
  return out;
}

}  // namespace

std::string label_text(int label) {
  if (label >= letters) return "\"...\"";
  return {'\'', static_cast<char>(label < 26 ? 'A' + label : 'a' + label - 26), '\''};
}

EinsumEquation::EinsumEquation(std::string_view text, std::span<const Tensor> tensors) {
  require(!tensors.empty(), "expected at least one operand");
  Reader reader(text);
  do operands.push_back(reader.labels());
  while (reader.take_comma());
  std::optional<std::vector<int>> given;
  if (reader.take_arrow()) given = reader.labels();
  require(reader.is_at_end(), "something follows the output at index ", reader.place(), " of the equation \"", text,
          "\"");
  require(operands.size() == tensors.size(), "the equation \"", text, "\" has subscripts for ", operands.size(),
          " operands, ", tensors.size(), " were given");

  std::vector<int64_t> ranks;
  int64_t widest = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    ranks.push_back(ellipsis_rank(operands[i], tensors[i], i));
    widest = std::max(widest, ranks[i]);
  }
  require(letters + widest <= static_cast<int64_t>(LabelSet().size()), "\"...\" stands for ", widest, " dimensions");
  int uses[letters] = {};
  for (size_t i = 0; i < operands.size(); ++i) {
    for (const int label : operands[i])
      if (label != ellipsis) ++uses[label];
    operands[i] = spelled_out(operands[i], ranks[i], widest);
  }
  if (given) {
    int shown[letters] = {};
    for (const int label : *given) {
      if (label == ellipsis) continue;
      require(uses[label] > 0, "the output's subscript ", label_text(label), " is not one of any operand's");
      require(shown[label]++ == 0, "the output's subscript ", label_text(label), " appears more than once");
    }
    output = spelled_out(*given, widest, widest);
    return;
  }
  output = spelled_out({ellipsis}, widest, widest);
  for (int label = 0; label < letters; ++label)
    if (uses[label] == 1) output.push_back(label);
}

}  // namespace fulgurite
