#include "executors/fusion/op_groups.h"

#include <algorithm>
#include <utility>

namespace fulgurite::fuser {

OpGroups::OpGroups(const DependencyGraph& graph)
    : graph_(graph),
      group_of_(static_cast<size_t>(graph.size())),
      seen_(static_cast<size_t>(graph.size()), 0),
      last_before_(static_cast<size_t>(graph.size()) + 1, -1) {
  for (int op = 0; op < graph.size(); ++op) {
    group_of_[op] = op;
    members_.push_back({op});
    note_last(op, op);
  }
}

OpGroups::Merge OpGroups::merge(int a, int b) {
  Merge out{std::min(a, b), std::max(a, b)};
  std::vector<int> both(members_[a].size() + members_[b].size());
  std::merge(members_[a].begin(), members_[a].end(), members_[b].begin(), members_[b].end(), both.begin());
  for (const int op : members_[out.from]) group_of_[op] = out.into;
  out.into_ops = std::exchange(members_[out.into], std::move(both));
  out.from_ops = std::exchange(members_[out.from], {});
  return out;
}

void OpGroups::keep(const Merge& merged) { note_last(merged.into, members_[merged.into].back()); }

// The noted last op of a group may be later than its own afterwards: searches then visit more than they need.
void OpGroups::undo(Merge merged) {
  for (const int op : merged.from_ops) group_of_[op] = merged.from;
  members_[merged.into] = std::move(merged.into_ops);
  members_[merged.from] = std::move(merged.from_ops);
}

// The last op of a group only grows, and a merged group's is not later than that of the group it joined: a Fenwick
// tree of maxima over the groups need not remove anything.
void OpGroups::note_last(int group, int op) {
  for (size_t i = static_cast<size_t>(group) + 1; i < last_before_.size(); i += i & (~i + 1))
    last_before_[i] = std::max(last_before_[i], op);
}
int OpGroups::last_of_groups(int up_to) const {
  int last = -1;
  for (size_t i = static_cast<size_t>(up_to) + 1; i > 0; i -= i & (~i + 1)) last = std::max(last, last_before_[i]);
  return last;
}

// The last op from which `op` can be reached: a group runs as one, so a path may enter it after `op` and leave it
// before.
int OpGroups::reach_of(int op) const {
  for (int last = last_of_groups(op); last > op; last = last_of_groups(op)) op = last;
  return op;
}

// Returns true if a path leads from one group to another through a third.
bool OpGroups::has_path_between(int from, int to) {
  ++search_;
  const int end = reach_of(members_[to].back());
  pending_.clear();
  const auto visit = [&](int op) {
    const int group = group_of_[op];
    if (group == from || group == to || seen_[group] == search_ || members_[group].front() > end) return;
    seen_[group] = search_;
    pending_.push_back(group);
  };
  for (const int op : members_[from])
    for (const int next : graph_.after(op)) visit(next);
  while (!pending_.empty()) {
    const int group = pending_.back();
    pending_.pop_back();
    for (const int op : members_[group])
      for (const int next : graph_.after(op)) {
        if (group_of_[next] == to) return true;
        visit(next);
      }
  }
  return false;
}

}  // namespace fulgurite::fuser
