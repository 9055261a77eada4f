#pragma once
#include <vector>

#include <fulgurite/trace.h>

#include "ir/analysis/uses.h"

namespace fulgurite::fuser {

/// Which lines of a trace wait for which. Where it is asked for, views that a kernel can look through are not lines of their own: who
/// reads such a view reads what it is a view of. Lines with effects stay in order, and behind what reads inputs that they may write.
class DependencyGraph {
 public:
  DependencyGraph(const Trace&, bool looks_through_views);

  int size() const { return static_cast<int>(before_.size()); }
  /// The lines that must run before a line, or after it.
  const std::vector<int>& before(int op) const { return before_[op]; }
  const std::vector<int>& after(int op) const { return after_[op]; }
  /// Whether a line is a view that kernels look through.
  bool is_transparent(int op) const { return is_transparent_[op]; }
  /// The line that makes a value; -1 for arguments.
  int producer(int id) const { return uses_.producer(id); }
  /// The value that a view of views was made of, and the lines of these views in the order of the trace.
  const Value& base(const Value&, std::vector<int>* views = nullptr) const;
  /// The lines that read a value, by way of views too. The lines of these views are left out.
  void consumers(int id, std::vector<int>& ops) const;

 private:
  const Trace& trace_;
  Uses uses_;
  std::vector<std::vector<int>> before_, after_;
  std::vector<char> is_transparent_;
};

}  // namespace fulgurite::fuser
