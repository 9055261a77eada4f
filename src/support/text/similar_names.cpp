#include "support/text/similar_names.h"

#include <algorithm>
#include <utility>

#include "support/text/text.h"

namespace fulgurite {

namespace {

constexpr size_t max_suggestions = 3;

// The number of insertions, deletions and substitutions that turn one word into the other.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string_view> similar_names(std::string_view wanted, const std::vector<KnownName>& known) {
  std::vector<std::pair<size_t, std::string_view>> close;
  for (const auto& [compared, shown] : known)
    if (const size_t distance = edit_distance(wanted, compared); distance <= 1 + wanted.size() / 4)
      close.emplace_back(distance, shown);
  std::sort(close.begin(), close.end());
  if (close.size() > max_suggestions) close.resize(max_suggestions);
  std::vector<std::string_view> names;
  for (const auto& [distance, shown] : close) names.push_back(shown);
  return names;
}

std::string suggestion(const std::vector<std::string_view>& similar) {
  if (similar.empty()) return "";
  return text::cat("; did you mean ",
                   text::join(
                       similar, [](std::string_view name) { return name; }, " or "),
                   "?");
}

}  // namespace fulgurite
