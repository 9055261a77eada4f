#include <algorithm>

#include <fulgurite/error.h>

#include "support/text/text.h"
#include "support/text/utf8.h"
#include "tokenizer/models/model.h"

namespace fulgurite::tokenization {

namespace {

constexpr int64_t max_id = 100'000'000;

}  // namespace

void Vocabulary::add(std::string text, int64_t id) {
  if (id < 0 || id > max_id)
    throw UserError(text::cat("the token \"", printable(text), "\" has the id ", id, "; ids are from 0 to ", max_id));
  if (find(text) >= 0) return;
  longest_ = std::max(longest_, text.size());
  if (id >= end()) items_of_ids_.resize(static_cast<size_t>(id) + 1, -1);
  const auto item = static_cast<int32_t>(items_.size());
  items_of_ids_[static_cast<size_t>(id)] = item;
  items_.push_back({std::move(text), id});
  if (items_.size() * 2 > slots_.size()) grow();
  else place(hash_of(items_.back().text), item);
}

void Vocabulary::place(uint64_t hash, int32_t item) {
  size_t at = hash & (slots_.size() - 1);
  while (slots_[at].item >= 0) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = {check_of(hash), item};
}

void Vocabulary::grow() {
  slots_.assign(std::max<size_t>(64, slots_.size() * 2), Slot());
  for (size_t i = 0; i < items_.size(); ++i) place(hash_of(items_[i].text), static_cast<int32_t>(i));
}

const std::string* Vocabulary::text(int64_t id) const {
  const int32_t item = id >= 0 && id < end() ? items_of_ids_[static_cast<size_t>(id)] : -1;
  return item < 0 ? nullptr : &items_[static_cast<size_t>(item)].text;
}

std::vector<std::pair<std::string_view, int64_t>> Vocabulary::all() const {
  std::vector<std::pair<std::string_view, int64_t>> out;
  out.reserve(items_.size());
  for (const Item& item : items_) out.emplace_back(item.text, item.id);
  return out;
}

}  // namespace fulgurite::tokenization
