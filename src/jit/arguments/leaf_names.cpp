#include "jit/arguments/leaf_names.h"

#include <map>
#include <set>

#include "support/text/text.h"

namespace fulgurite::detail {

namespace {

std::string identifier(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool is_allowed = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    out += is_allowed ? c : '_';
  }
  if (out.empty() || (out[0] >= '0' && out[0] <= '9')) out.insert(0, "_");
  return out;
}

bool is_text_or_number(KeyItem::Kind kind) { return kind != KeyItem::Kind::tensor && kind != KeyItem::Kind::no_tensor; }

char letter_of(KeyItem::Kind kind) {
  if (kind == KeyItem::Kind::text || kind == KeyItem::Kind::device) return 's';
  return is_text_or_number(kind) ? 'n' : 't';
}

class Names {
 public:
  std::string unique(std::string name) {
    if (taken_.insert(name).second) return name;
    for (int suffix = 1;; ++suffix)
      if (std::string other = text::cat(name, "_", suffix); taken_.insert(other).second) return other;
  }
  /// The argument's number among those with this initial.
  int number_of(int argument, char letter) {
    const auto [found, is_new] = numbers_.try_emplace(argument, 0);
    if (is_new) found->second = next_[letter]++;
    return found->second;
  }

 private:
  std::set<std::string> taken_;
  std::map<int, int> numbers_;
  std::map<char, int> next_;
};

}  // namespace

std::vector<std::string> leaf_names(const std::vector<LeafPath>& paths, const FlatArguments& flat,
                                    const std::vector<std::string>& argument_names) {
  std::vector<KeyItem> items;
  for (KeyItem& item : read_key(flat.key().data(), flat.key().size()))
    if (item.is_leaf()) items.push_back(std::move(item));

  Names names;
  std::vector<std::string> out;
  size_t tensor = 0;
  for (size_t i = 0; i < paths.size(); ++i) {
    const LeafPath& path = paths[i];
    const char letter = letter_of(items[i].kind);
    const Tensor* concrete = path.is_tensor ? flat.tensors()[tensor++] : nullptr;
    std::string name;
    if (concrete && concrete->defined() && !concrete->name().empty()) {
      name = concrete->name();
    } else if (path.argument == LeafPath::callable_member) {
      name = text::cat(letter, "_", path.path);
    } else if (static_cast<size_t>(path.argument) < argument_names.size()) {
      name = argument_names[path.argument];
      if (!path.path.empty()) name += text::cat("_", path.path);
    } else if (path.in_structure) {
      name = text::cat(letter, "_", path.path);
    } else {
      name = text::cat(letter, "_", names.number_of(path.argument, letter));
      if (!path.path.empty()) name += text::cat("_", path.path);
    }
    out.push_back(names.unique(identifier(name)));
  }
  return out;
}

}  // namespace fulgurite::detail
