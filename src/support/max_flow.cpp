#include "support/max_flow.h"

#include <algorithm>

namespace fulgurite {

void MaxFlow::add_edge(int from, int to, int64_t capacity) {
  edges_.push_back({to, first_[from], capacity});
  first_[from] = static_cast<int>(edges_.size()) - 1;
  edges_.push_back({from, first_[to], 0});
  first_[to] = static_cast<int>(edges_.size()) - 1;
}

bool MaxFlow::find_levels(int source, int sink) {
  level_.assign(first_.size(), -1);
  std::vector<int> queue{source};
  level_[source] = 0;
  for (size_t i = 0; i < queue.size(); ++i)
    for (int e = first_[queue[i]]; e >= 0; e = edges_[e].next)
      if (edges_[e].capacity > 0 && level_[edges_[e].to] < 0) {
        level_[edges_[e].to] = level_[queue[i]] + 1;
        queue.push_back(edges_[e].to);
      }
  return level_[sink] >= 0;
}

// One augmenting path by depth-first search with an explicit stack: graphs are as deep as programs are long.
int64_t MaxFlow::push_along(int source, int sink) {
  std::vector<int> path;
  int at = source;
  while (at != sink) {
    int& e = next_[at];
    while (e >= 0 && !(edges_[e].capacity > 0 && level_[edges_[e].to] == level_[at] + 1)) e = edges_[e].next;
    if (e >= 0) {
      path.push_back(e);
      at = edges_[e].to;
      continue;
    }
    if (path.empty()) return 0;
    level_[at] = -1;  // a dead end
    at = edges_[path.back() ^ 1].to;
    path.pop_back();
  }
  int64_t flow = unlimited;
  for (const int e : path) flow = std::min(flow, edges_[e].capacity);
  for (const int e : path) {
    edges_[e].capacity -= flow;
    edges_[e ^ 1].capacity += flow;
  }
  return flow;
}

int64_t MaxFlow::run(int source, int sink) {
  int64_t total = 0;
  while (total < unlimited && find_levels(source, sink)) {
    next_ = first_;
    while (const int64_t flow = push_along(source, sink)) {
      total += flow;
      if (total >= unlimited) break;
    }
  }
  return total;
}

std::vector<char> MaxFlow::sink_side(int sink) const {
  std::vector<char> reaches(first_.size(), false);
  std::vector<int> queue{sink};
  reaches[sink] = true;
  for (size_t i = 0; i < queue.size(); ++i)
    for (int e = first_[queue[i]]; e >= 0; e = edges_[e].next) {
      const int from = edges_[e].to;
      if (reaches[from] || edges_[e ^ 1].capacity == 0) continue;
      reaches[from] = true;
      queue.push_back(from);
    }
  return reaches;
}

}  // namespace fulgurite
