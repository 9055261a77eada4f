#include <algorithm>

#include <fulgurite/trace.h>

namespace fulgurite {

namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Myers' algorithm: work grows with the number of differences, not with the product of the lengths.
class Difference {
 public:
  Difference(std::vector<std::string_view> before, std::vector<std::string_view> after)
      : a_(std::move(before)), b_(std::move(after)) {}

  std::string text() {
    search();
    std::string out;
    int x = 0, y = 0;
    for (auto [next_x, next_y] : path()) {
      while (x < next_x || y < next_y) {
        if (x < next_x && y < next_y && a_[x] == b_[y]) {
          ++x, ++y;
        } else if (x < next_x) {
          line(out, '-', a_[x++]);
        } else {
          line(out, '+', b_[y++]);
        }
      }
    }
    return out;
  }

 private:
  // The memory needed is this number squared; beyond it everything is shown as replaced.
  static constexpr int max_differences = 4000;

  static void line(std::string& out, char mark, std::string_view text) {
    out += mark;
    if (!text.empty()) out += ' ';
    out += text;
    out += '\n';
  }

  // furthest_[d] holds, for each diagonal k, the furthest position in `before` reached with d differences.
  void search() {
    const int n = static_cast<int>(a_.size()), m = static_cast<int>(b_.size());
    std::vector<int> furthest(2 * (n + m) + 3, 0);
    const int middle = n + m + 1;
    for (int d = 0; d <= std::min(n + m, max_differences); ++d) {
      furthest_.emplace_back(furthest.begin() + middle - d - 1, furthest.begin() + middle + d + 2);
      for (int k = -d; k <= d; k += 2) {
        const bool down = k == -d || (k != d && furthest[middle + k - 1] < furthest[middle + k + 1]);
        int x = down ? furthest[middle + k + 1] : furthest[middle + k - 1] + 1;
        int y = x - k;
        while (x < n && y < m && a_[x] == b_[y]) ++x, ++y;
        furthest[middle + k] = x;
        if (x >= n && y >= m) {
          differences_ = d;
          return;
        }
      }
    }
  }

  // The points where the best path turns, from the start to the end.
  std::vector<std::pair<int, int>> path() const {
    std::vector<std::pair<int, int>> points;
    int x = static_cast<int>(a_.size()), y = static_cast<int>(b_.size());
    if (differences_ < 0) return {{x, 0}, {x, y}};
    for (int d = differences_; d > 0; --d) {
      const std::vector<int>& row = furthest_[d];  // diagonals -d-1 … d+1 before step d
      const auto at = [&](int k) { return row[k + d + 1]; };
      const int k = x - y;
      const bool down = k == -d || (k != d && at(k - 1) < at(k + 1));
      const int from_k = down ? k + 1 : k - 1;
      const int from_x = at(from_k), from_y = from_x - from_k;
      points.emplace_back(x, y);
      points.emplace_back(down ? from_x : from_x + 1, down ? from_y + 1 : from_y);
      points.emplace_back(from_x, from_y);
      x = from_x;
      y = from_y;
    }
    points.emplace_back(x, y);
    std::ranges::reverse(points);
    return points;
  }

  std::vector<std::string_view> a_, b_;
  std::vector<std::vector<int>> furthest_;
  int differences_ = -1;  // more than max_differences
};

}  // namespace

std::string trace_diff(const Trace& before, const Trace& after) {
  const PrintOptions stable{.time = false, .source = false};
  const std::string a = before.cpp(stable), b = after.cpp(stable);
  return Difference(lines_of(a), lines_of(b)).text();
}

}  // namespace fulgurite
