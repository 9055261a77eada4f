#include "compiled_autograd/captures.h"

#include <algorithm>

#include "compiled_autograd/explain_miss.h"
#include "ir/analysis/trace_bytes.h"
#include "support/context.h"
#include "support/environment.h"

namespace fulgurite {

namespace {

constexpr size_t max_programs = 4096, max_structures = 1024;

// The median of the last uses.
template <class List, class Last>
uint64_t median_use(const List& list, Last last) {
  std::vector<uint64_t> uses;
  for (const auto& one : list) uses.push_back(last(one));
  std::nth_element(uses.begin(), uses.begin() + static_cast<std::ptrdiff_t>(uses.size() / 2), uses.end());
  return uses[uses.size() / 2];
}

}  // namespace

Captures& Captures::all() { return context().captures.get(); }

std::shared_ptr<const BackwardProgram> Captures::find(const BackwardKey& key) {
  const std::lock_guard lock(mutex_);
  const auto [begin, end] = by_hash_.equal_range(key.hash);
  for (auto at = begin; at != end; ++at) {
    if (!(at->second->key == key)) continue;
    at->second->last_use = ++uses_;
    if (last_ != at->second) last_ = at->second;
    return at->second;
  }
  return nullptr;
}

void Captures::add(std::shared_ptr<BackwardProgram> compiled) {
  const std::lock_guard lock(mutex_);
  measure_newest();
  if (by_hash_.size() >= max_programs || bytes_ > cache_bytes()) evict();
  compiled->last_use = ++uses_;
  last_ = compiled;
  newest_ = compiled;
  by_hash_.emplace(compiled->key.hash, std::move(compiled));
}

void Captures::evict() {
  const uint64_t middle = median_use(by_hash_, [](const auto& one) { return one.second->last_use; });
  std::erase_if(by_hash_, [&](const auto& one) {
    const bool is_old = one.second->last_use < middle;
    if (is_old) bytes_ -= one.second->bytes;
    return is_old;
  });
}

// Its program has run by now, or never will.
void Captures::measure_newest() {
  const std::shared_ptr<BackwardProgram> newest = newest_.lock();
  if (!newest) return;
  TraceBytes traces;
  int64_t program = 0;
  traces.add(newest->ops);
  if (newest->program && newest->program->is_made()) {
    const ProgramBytes bytes = newest->program->bytes();
    program = bytes.plan + bytes.arenas;
    traces.add(newest->program->trace());
  }
  newest->bytes = 2 * (program + traces.total());
  bytes_ += newest->bytes;
}

void Captures::count_capture() {
  const std::lock_guard lock(mutex_);
  ++count_;
}

int64_t Captures::count() {
  const std::lock_guard lock(mutex_);
  return count_;
}

std::vector<Trace> Captures::last_traces() {
  const std::lock_guard lock(mutex_);
  if (!last_) return {};
  std::vector<Trace> traces = last_->capture->stages;
  traces.push_back(last_->program ? last_->program->trace() : last_->ops);
  return traces;
}

void Captures::reset() {
  const std::scoped_lock lock(making_, mutex_);
  by_hash_.clear();
  last_.reset();
  newest_.reset();
  bytes_ = 0;
  structures_.clear();
  count_ = 0;
}

StructureOfBackward& Captures::structure(const BackwardStructure& structure, bool& is_new) {
  const auto found = std::ranges::find_if(
      structures_, [&](const StructureOfBackward& one) { return one.structure.key == structure.key; });
  is_new = found == structures_.end();
  if (is_new && structures_.size() >= max_structures) {
    const uint64_t middle = median_use(structures_, [](const StructureOfBackward& one) { return one.last_use; });
    structures_.remove_if([&](const StructureOfBackward& one) { return one.last_use < middle; });
  }
  StructureOfBackward& out = is_new ? structures_.emplace_back() : *found;
  if (is_new) out.structure = structure;
  const std::lock_guard lock(mutex_);
  out.last_use = ++uses_;
  return out;
}

std::string Captures::explain_new(const StructureOfBackward& one) {
  std::vector<const StructureOfBackward*> known;
  for (const StructureOfBackward& other : structures_)
    if (&other != &one) known.push_back(&other);
  return explain_new_node(one, std::move(known));
}

}  // namespace fulgurite
