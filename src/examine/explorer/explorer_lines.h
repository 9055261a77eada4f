#pragma once
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include <fulgurite/trace.h>

#include "ir/printing/source_lines.h"

namespace fulgurite::examine {

/// The tables of ops, of positions in the user's files, and of these files that the stages of a page share; as JSON.
class ExplorerOps {
 public:
  /// The ops of a stage, its arguments first: a JSON array of indices into the table.
  std::string add(const Trace&);
  /// The number of arguments, which stand before the trace's own ops.
  static size_t arguments_of(const Trace&);

  std::string lines() const { return "[" + lines_ + "]"; }
  std::string sources() const { return "[" + sources_ + "]"; }
  std::string files();

 private:
  int add_op(const std::string& json);
  int add_source(SourceLocation);
  std::string subops(const BoundSymbol&);
  int add_bound(const BoundSymbol&, const std::string& printed);

  std::unordered_map<std::string, int> known_ops_;
  std::string lines_, sources_;
  std::map<std::pair<int, int>, int> known_sources_;  // by file and line
  std::vector<std::string> paths_;
  SourceLines texts_;
};

}  // namespace fulgurite::examine
