#pragma once
#include <cstdint>
#include <vector>

namespace fulgurite {

/// Minimum cut of a directed graph by Dinic's algorithm. Nodes are numbered from 0; a capacity of `unlimited` is never
/// cut.
class MaxFlow {
 public:
  static constexpr int64_t unlimited = int64_t{1} << 60;
  explicit MaxFlow(int nodes) : first_(nodes, -1) {}
  void add_edge(int from, int to, int64_t capacity);
  /// Returns the cost of the minimum cut; `unlimited` or more if every cut contains an uncuttable edge.
  int64_t run(int source, int sink);
  /// After run(): for each node, true if it is on the sink's side of the minimum cut nearest the sink.
  std::vector<char> sink_side(int sink) const;

 private:
  struct Edge {
    int to, next;
    int64_t capacity;  // residual; edges come in pairs, i and i ^ 1
  };
  bool find_levels(int source, int sink);
  int64_t push_along(int source, int sink);

  std::vector<Edge> edges_;
  std::vector<int> first_, level_, next_;
};

}  // namespace fulgurite
