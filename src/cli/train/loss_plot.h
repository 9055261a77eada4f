#pragma once
#include <string>
#include <utility>
#include <vector>

namespace fulgurite::cli {

/// A curve of (step, loss) points.
using Curve = std::vector<std::pair<double, double>>;
/// The training and validation losses as an SVG picture.
std::string loss_plot_svg(const Curve& train, const Curve& validation);

}  // namespace fulgurite::cli
