// The errors of f32 operators with one operand, in units in the last place of the exact result, over all 2^32 inputs or
// every n-th of them; the exact result is computed in f64 by the C library. Fails when one exceeds its bound.
// usage: accuracy_table [--stride N] [--only OPERATOR] [--write FILE]
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <numbers>
#include <string>
#include <thread>
#include <vector>

#include <fulgurite/fulgurite.h>

#include "support/text/text.h"

namespace fulgurite::test {
namespace {

/// An operator, its exact function, and its error bound. The unit of an error is that of `least` or a larger number.
struct Function {
  const char* name;
  double (*exact)(double);
  double bound;
  double least = 0;
};

double sigmoid_of(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
double softplus_of(double x) { return x > 20 ? x : std::log1p(std::exp(x)); }

/// Accurate in f64 where its naive form loses digits: the slow ways are taken.
double mish_of(double x) {
  if (x < -30) return x * std::exp(x);
  const double e = std::exp(std::min(x, 40.0)), n = e * e + 2 * e;
  return x * (n / (n + 2));
}

const std::vector<Function>& functions() {
  const auto f = [](double (*function)(double)) { return function; };
  static const std::vector<Function> list = {
      {"torch.exp", f(std::exp), 2},
      {"torch.exp2", f(std::exp2), 2},
      {"torch.expm1", f(std::expm1), 2},
      {"torch.log", f(std::log), 2},
      {"torch.log2", f(std::log2), 2},
      {"torch.log10", f(std::log10), 2},
      {"torch.log1p", f(std::log1p), 2},
      {"torch.sqrt", f(std::sqrt), 0.5},
      {"torch.rsqrt", [](double x) { return 1 / std::sqrt(x); }, 2},
      {"torch.reciprocal", [](double x) { return 1 / x; }, 0.5},
      {"torch.sin", f(std::sin), 2},
      {"torch.cos", f(std::cos), 2},
      {"torch.tan", f(std::tan), 4},
      {"torch.asin", f(std::asin), 4},
      {"torch.acos", f(std::acos), 4},
      {"torch.atan", f(std::atan), 4},
      {"torch.sinh", f(std::sinh), 4},
      {"torch.cosh", f(std::cosh), 4},
      {"torch.tanh", f(std::tanh), 3},
      {"torch.asinh", f(std::asinh), 4},
      {"torch.acosh", f(std::acosh), 4},
      {"torch.atanh", f(std::atanh), 4},
      {"torch.erf", f(std::erf), 2},
      {"torch.erfc", f(std::erfc), 16},
      {"torch.sigmoid", sigmoid_of, 3},
      {"torch.nn.functional.silu", [](double x) { return x == -HUGE_VAL ? NAN : x * sigmoid_of(x); }, 4},
      {"torch.nn.functional.gelu",
       [](double x) { return x == -HUGE_VAL ? NAN : x * 0.5 * std::erfc(-x / std::numbers::sqrt2); }, 4, 1e-3},
      {"torch.nn.functional.softplus", softplus_of, 4},
      {"torch.nn.functional.logsigmoid", [](double x) { return x < -700 ? x : -std::log1p(std::exp(-x)); }, 4},
      {"torch.nn.functional.mish", mish_of, 64},
  };
  return list;
}

/// The distance of neighbouring f32 around the number: a power of two, built from its exponent alone for speed.
double unit_of(double x) {
  constexpr uint64_t bias = 1023, least = bias - 126, largest = bias + 127;
  const uint64_t exponent = std::bit_cast<uint64_t>(x) >> 52 & 0x7ff;
  return std::bit_cast<double>((std::clamp(exponent, least, largest) - 23) << 52);
}

/// Infinities stand for 2^128, which is where the next number would be.
double finite(double x) { return std::isinf(x) ? std::copysign(0x1p128, x) : x; }

double error_of(float result, double exact, double least) {
  if (std::isnan(exact) || std::isnan(result)) return std::isnan(exact) && std::isnan(result) ? 0 : HUGE_VAL;
  if (std::abs(exact) > 0x1p128) exact = std::copysign(0x1p128, exact);
  return std::abs(finite(result) - exact) / unit_of(std::max(std::abs(exact), least));
}

struct Worst {
  double error = 0;
  float input = 0, result = 0;
  void take(const Worst& other) {
    if (other.error > error) *this = other;
  }
};

constexpr int64_t chunk = 1 << 16;

/// The inputs first, first + stride, … below `end`, as bits of f32.
Worst measure(const Function& function, int64_t first, int64_t end, int64_t stride) {
  const NoGrad no_grad;
  Worst worst;
  for (int64_t at = first; at < end; at += chunk * stride) {
    const int64_t count = std::min(chunk, (end - at + stride - 1) / stride);
    const Tensor x = empty({count});
    float* inputs = x.data<float>();
    for (int64_t i = 0; i < count; ++i) inputs[i] = std::bit_cast<float>(static_cast<uint32_t>(at + i * stride));
    const Tensor y = call(function.name, {x});
    const float* results = y.data<float>();
    for (int64_t i = 0; i < count; ++i)
      worst.take({error_of(results[i], function.exact(static_cast<double>(inputs[i])), function.least), inputs[i],
                  results[i]});
  }
  return worst;
}

/// On all cores: parts that threads take one after another.
Worst measure(const Function& function, int64_t stride) {
  constexpr int64_t all = int64_t{1} << 32, parts = 256;
  const auto threads = static_cast<size_t>(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<Worst> worst(threads);
  std::atomic<int64_t> next{0};
  const auto work = [&](Worst& mine) {
    for (int64_t part; (part = next++) < parts;) {
      const int64_t from = all / parts * part, skipped = (stride - from % stride) % stride;
      mine.take(measure(function, from + skipped, all / parts * (part + 1), stride));
    }
  };
  std::vector<std::thread> team;
  for (size_t i = 1; i < threads; ++i) team.emplace_back(work, std::ref(worst[i]));
  work(worst[0]);
  for (std::thread& thread : team) thread.join();
  for (const Worst& other : worst) worst[0].take(other);
  return worst[0];
}

int main_of(const std::vector<std::string>& arguments) {
  int64_t stride = 1;
  std::string only, path;
  for (size_t i = 0; i + 1 < arguments.size(); i += 2) {
    if (arguments[i] == "--stride") stride = std::max(std::atoll(arguments[i + 1].c_str()), 1LL);
    else if (arguments[i] == "--only") only = arguments[i + 1];
    else if (arguments[i] == "--write") path = arguments[i + 1];
    else path = "?";
  }
  if (arguments.size() % 2 != 0 || path == "?") {
    std::fprintf(stderr, "usage: accuracy_table [--stride N] [--only OPERATOR] [--write FILE]\n");
    return 2;
  }
  std::string table =
      "# Accuracy\n\nThe worst error of f32 operators over all 2^32 inputs, in units in the last place of the exact "
      "result, and where it "
      "is. Written by\n`tools/docs accuracy`, which fails where an error is above its bound. The exact result is the "
      "C library's in f64."
      "\n\n| operator | worst | at | bound |\n|---|---|---|---|\n";
  int failed = 0;
  for (const Function& function : functions()) {
    if (!only.empty() && only != function.name) continue;
    const Worst worst = measure(function, stride);
    const bool fits = worst.error <= function.bound;
    failed += !fits;
    std::printf("%-34s %8.3f at %.9g (gives %.9g, exact %.17g), bound %g%s\n", function.name, worst.error,
                static_cast<double>(worst.input), static_cast<double>(worst.result),
                function.exact(static_cast<double>(worst.input)), function.bound, fits ? "" : " EXCEEDED");
    std::fflush(stdout);
    std::array<char, 200> line{};
    std::snprintf(line.data(), line.size(), "| `%s` | %.2f | %.9g | %g%s |\n", function.name, worst.error,
                  static_cast<double>(worst.input), function.bound,
                  function.least == 0 ? "" : text::cat(" units of max(result, ", function.least, ")").c_str());
    table += line.data();
  }
  if (!path.empty()) {
    std::ofstream file(path);
    file << table;
    if (!file.good()) {
      std::fprintf(stderr, "cannot write %s\n", path.c_str());
      return 1;
    }
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace fulgurite::test

int main(int count, char** words) { return fulgurite::test::main_of({words + 1, words + count}); }
