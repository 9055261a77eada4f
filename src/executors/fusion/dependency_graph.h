#pragma once
#include <vector>

#include <fulgurite/trace.h>

#include "ir/analysis/uses.h"

namespace fulgurite::fuser {

/// Dependency graph over the ops of a trace. With `looks_through_views`, views that a kernel can look through are
/// transparent: a reader of such a view depends on the producer of its base. Ops with side effects stay in order, and
/// after the readers of inputs that they may write.
class DependencyGraph {
 public:
  DependencyGraph(const Trace&, bool looks_through_views);

  int size() const { return static_cast<int>(before_.size()); }
  /// The ops that must run before an op, or after it.
  const std::vector<int>& before(int op) const { return before_[op]; }
  const std::vector<int>& after(int op) const { return after_[op]; }
  /// Returns true if an op is a view that kernels look through.
  bool is_transparent(int op) const { return is_transparent_[op]; }
  /// The op that produces a value; -1 for arguments.
  int producer(int id) const { return uses_.producer(id); }
  /// The base of a chain of views, and the ops of these views in the order of the trace.
  const Value& base(const Value&, std::vector<int>* views = nullptr) const;
  /// The ops that read a value, also through views; without the ops of these views.
  void consumers(int id, std::vector<int>& ops) const;

 private:
  const Trace& trace_;
  Uses uses_;
  std::vector<std::vector<int>> before_, after_;
  std::vector<char> is_transparent_;
};

}  // namespace fulgurite::fuser
