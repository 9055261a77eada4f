#include "cli/train/loss_plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace fulgurite::cli {

namespace {

constexpr double width = 720, height = 420, left = 64, right = 32, top = 36, bottom = 44;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

// The step, 1, 2 or 5 times a power of ten, that divides `range` into about `ticks` intervals.
double tick_step(double range, int ticks) {
  const double raw = range / ticks;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (raw <= factor * power) return factor * power;
  return 10 * power;
}

struct Axes {
  double x_low, x_high, y_low, y_high;
  double x(double value) const { return left + (value - x_low) / (x_high - x_low) * (width - left - right); }
  double y(double value) const {
    return height - bottom - (value - y_low) / (y_high - y_low) * (height - top - bottom);
  }
};

Axes fit(const Curve& train, const Curve& validation) {
  Axes axes{0, 1, INFINITY, -INFINITY};
  for (const Curve* curve : {&train, &validation})
    for (const auto& [step, loss] : *curve) {
      if (!std::isfinite(loss)) continue;
      axes.x_high = std::max(axes.x_high, step);
      axes.y_low = std::min(axes.y_low, loss);
      axes.y_high = std::max(axes.y_high, loss);
    }
  if (!(axes.y_low < axes.y_high)) {
    axes.y_low = std::isfinite(axes.y_low) ? axes.y_low - 0.5 : 0;
    axes.y_high = axes.y_low + 1;
  }
  const double margin = 0.05 * (axes.y_high - axes.y_low);
  axes.y_low -= margin;
  axes.y_high += margin;
  return axes;
}

std::string line(const Axes& axes, const Curve& curve, const char* color) {
  std::string points;
  for (const auto& [step, loss] : curve)
    if (std::isfinite(loss)) points += number(axes.x(step)) + "," + number(axes.y(loss)) + " ";
  return "<polyline fill=\"none\" stroke=\"" + std::string(color) + "\" stroke-width=\"1.5\" points=\"" + points +
         "\"/>\n";
}

// "loss 1.2345": a curve's name with its last value.
std::string named_with_last(const char* name, const Curve& curve) {
  if (curve.empty() || !std::isfinite(curve.back().second)) return name;
  char text[64];
  std::snprintf(text, sizeof text, "%s %.4f", name, curve.back().second);
  return text;
}

std::string label(double x, double y, const char* anchor, const std::string& text) {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" text-anchor=\"" + anchor + "\">" + text + "</text>\n";
}

}  // namespace

std::string loss_plot_svg(const Curve& train, const Curve& validation) {
  const Axes axes = fit(train, validation);
  std::string svg =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 420\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"720\" height=\"420\" fill=\"white\"/>\n";
  const double y_step = tick_step(axes.y_high - axes.y_low, 6), x_step = tick_step(axes.x_high - axes.x_low, 8);
  for (double y = std::ceil(axes.y_low / y_step) * y_step; y <= axes.y_high; y += y_step)
    svg += "<path stroke=\"#ddd\" d=\"M" + number(left) + " " + number(axes.y(y)) + "H" + number(width - right) +
           "\"/>\n" + label(left - 6, axes.y(y) + 4, "end", number(y));
  for (double x = 0; x <= axes.x_high; x += x_step) svg += label(axes.x(x), height - bottom + 18, "middle", number(x));
  svg += line(axes, train, "#7aa6d8") + line(axes, validation, "#c0392b");
  for (const auto& [step, loss] : validation)
    if (std::isfinite(loss))
      svg += "<circle r=\"2.5\" fill=\"#c0392b\" cx=\"" + number(axes.x(step)) + "\" cy=\"" + number(axes.y(loss)) +
             "\"/>\n";
  svg += label((left + width - right) / 2, height - 8, "middle", "step") +
         label((left + width - right) / 2, 22, "middle", "Loss by training step");
  svg += "<text transform=\"translate(16 " + number((top + height - bottom) / 2) +
         ") rotate(-90)\" text-anchor=\"middle\">loss</text>\n";
  const std::string legend = "<text text-anchor=\"end\" x=\"" + number(width - right - 6) + "\" y=\"";
  svg += legend + "54\" fill=\"#7aa6d8\">" + named_with_last("training loss", train) + "</text>\n";
  svg += legend + "70\" fill=\"#c0392b\">" + named_with_last("validation loss", validation) + "</text>\n</svg>\n";
  return svg;
}

}  // namespace fulgurite::cli
