#pragma once
#include <functional>

#include <fulgurite/tensor.h>

namespace fulgurite::optim {

/// A place on a line: the step's length, the loss there, its gradient and slope along the line.
struct LinePoint {
  double length = 0, loss = 0;
  Tensor gradient;
  double slope = 0;
};

/// Finds a length that satisfies the strong conditions of Wolfe, from the point at length 0 and a first length.
/// `evaluate` gives the point at a length; it is called at most about `max_evaluations` times.
struct LineSearchResult {
  LinePoint point;
  int64_t evaluations = 0;
};
LineSearchResult search_line(const std::function<LinePoint(double)>& evaluate, const LinePoint& start,
                             double first_length, double direction_size, double tolerance_change,
                             int64_t max_evaluations);

}  // namespace fulgurite::optim
