// A line search for the strong conditions of Wolfe: lengths are extended until a bracket holds a minimum, which cubic
// interpolation then narrows.
#include "nn/optim/line_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace fulgurite::optim {

namespace {

constexpr double sufficient_decrease = 1e-4, curvature = 0.9;

/// The minimum of the cubic through two points and their slopes, kept within bounds.
double cubic_minimum(const LinePoint& a, const LinePoint& b, double least, double most) {
  const LinePoint &left = a.length <= b.length ? a : b, &right = a.length <= b.length ? b : a;
  const double d1 = left.slope + right.slope - 3 * (left.loss - right.loss) / (left.length - right.length);
  const double square = d1 * d1 - left.slope * right.slope;
  if (!(square >= 0)) return (least + most) / 2;
  const double d2 = std::sqrt(square);
  const double minimum =
      right.length - (right.length - left.length) * ((right.slope + d2 - d1) / (right.slope - left.slope + 2 * d2));
  return std::min(std::max(minimum, least), most);
}
double cubic_minimum(const LinePoint& a, const LinePoint& b) {
  return cubic_minimum(a, b, std::min(a.length, b.length), std::max(a.length, b.length));
}

class Search {
 public:
  Search(const std::function<LinePoint(double)>& evaluate, const LinePoint& start, double direction_size,
         double tolerance, int64_t most)
      : evaluate_(evaluate), start_(start), size_(direction_size), tolerance_(tolerance), most_(most) {}

  LineSearchResult run(double length) {
    if (bracket(length)) narrow();
    return {low().loss <= high().loss ? low() : high(), evaluations_};
  }

 private:
  LinePoint& low() { return points_[low_]; }
  LinePoint& high() { return points_[1 - low_]; }
  LinePoint at(double length) {
    ++evaluations_;
    return evaluate_(length);
  }
  bool decreases(const LinePoint& p) const {
    return p.loss <= start_.loss + sufficient_decrease * p.length * start_.slope;
  }
  bool is_flat(const LinePoint& p) const { return std::fabs(p.slope) <= -curvature * start_.slope; }
  void set(const LinePoint& a, const LinePoint& b) {
    points_[0] = a;
    points_[1] = b;
    low_ = a.loss <= b.loss ? 0 : 1;
  }

  /// Returns false once a point satisfies the conditions.
  bool bracket(double length) {
    LinePoint previous = start_, now = at(length);
    for (int64_t i = 0; i < most_; ++i) {
      if (!decreases(now) || (i > 1 && now.loss >= previous.loss)) return set(previous, now), true;
      if (is_flat(now)) return set(now, now), false;
      if (now.slope >= 0) return set(previous, now), true;
      const double least = now.length + 0.01 * (now.length - previous.length);
      const double next = cubic_minimum(previous, now, least, now.length * 10);
      previous = std::exchange(now, at(next));
    }
    set(start_, now);
    return true;
  }

  void narrow() {
    bool was_near_bound = false;
    while (evaluations_ <= most_) {
      const double left = std::min(low().length, high().length), right = std::max(low().length, high().length);
      if ((right - left) * size_ < tolerance_) return;
      double length = cubic_minimum(points_[0], points_[1]);
      // Twice in a row near a bound, or beyond it: a tenth of the bracket away from it.
      const double margin = 0.1 * (right - left);
      const bool is_near = std::min(right - length, length - left) < margin;
      if (is_near && (was_near_bound || length >= right || length <= left)) {
        length = std::fabs(length - right) < std::fabs(length - left) ? right - margin : left + margin;
        was_near_bound = false;
      } else {
        was_near_bound = is_near;
      }
      const LinePoint now = at(length);
      if (!decreases(now) || now.loss >= low().loss) {
        high() = now;
        if (high().loss < low().loss) low_ = 1 - low_;
        continue;
      }
      const bool is_done = is_flat(now);
      if (!is_done && now.slope * (high().length - low().length) >= 0) high() = low();
      low() = now;
      if (is_done) return;
    }
  }

  const std::function<LinePoint(double)>& evaluate_;
  const LinePoint& start_;
  double size_, tolerance_;
  int64_t most_, evaluations_ = 0;
  LinePoint points_[2];
  int low_ = 0;
};

}  // namespace

LineSearchResult search_line(const std::function<LinePoint(double)>& evaluate, const LinePoint& start,
                             double first_length, double direction_size, double tolerance_change,
                             int64_t max_evaluations) {
  return Search(evaluate, start, direction_size, tolerance_change, max_evaluations).run(first_length);
}

}  // namespace fulgurite::optim
