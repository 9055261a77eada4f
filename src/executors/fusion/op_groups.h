#pragma once
#include <vector>

#include "executors/fusion/dependency_graph.h"

namespace fulgurite::fuser {

/// A partition of a trace's ops into groups that run as one each, at first of one op each. A group's number is its
/// first op.
class OpGroups {
 public:
  explicit OpGroups(const DependencyGraph&);

  int group_of(int op) const { return group_of_[op]; }
  /// The ops of a group, in order.
  const std::vector<int>& members(int group) const { return members_[group]; }
  /// Returns true if both can become one group: it would be convex, without a path from one to the other through a
  /// third group.
  bool are_convex(int a, int b) { return !has_path_between(a, b) && !has_path_between(b, a); }

  /// Two groups that have become one.
  struct Merge {
    int into = -1, from = -1;
    std::vector<int> into_ops = {}, from_ops = {};  // before
  };
  /// Makes one group of two, to be kept before the next query or undone.
  Merge merge(int a, int b);
  void keep(const Merge&);
  /// Merges that were kept are undone from the last on.
  void undo(Merge);

 private:
  void note_last(int group, int op);
  int last_of_groups(int up_to) const;
  int reach_of(int op) const;
  bool has_path_between(int from, int to);

  const DependencyGraph& graph_;
  std::vector<int> group_of_;              // by op
  std::vector<std::vector<int>> members_;  // by group
  std::vector<int> seen_;                  // by group: the last search that visited it
  std::vector<int> last_before_;           // the last ops of groups, as a Fenwick tree
  int search_ = 0;
  std::vector<int> pending_;
};

}  // namespace fulgurite::fuser
