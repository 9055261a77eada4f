// The eager engine's overhead beside its kernels, one thread: recording and running backward of chains of tiny
// operators, a small network, and a chain of a million nodes with its memory. One JSON line for each case and metric;
// the minimum of several rounds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>

#include <unistd.h>

#include <fulgurite/fulgurite.h>

namespace fulgurite {

namespace {

using Clock = std::chrono::steady_clock;
double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

void report(const std::string& bench_case, const char* metric, double value) {
  std::printf("{\"case\": \"%s\", \"metric\": \"%s\", \"value\": %.4g}\n", bench_case.c_str(), metric, value);
  std::fflush(stdout);
}

double resident_mib() {
  std::ifstream file("/proc/self/statm");
  long pages = 0, resident = 0;
  file >> pages >> resident;
  return static_cast<double>(resident * sysconf(_SC_PAGESIZE)) / (1 << 20);
}

/// A chain of one operator, measured as PyTorch's figures are.
template <class Operator>
void measure_chain(const std::string& name, int length, Operator apply) {
  const Tensor x = (ones({4}) * 0.5).requires_grad_();
  double record = 1e30, forward = 1e30, backward = 1e30;
  for (int round = 0; round < 300; ++round) {
    auto start = Clock::now();
    Tensor y = x;
    for (int i = 0; i < length; ++i) y = apply(y);
    record = std::min(record, microseconds_since(start));
    const Tensor loss = sum(y);
    start = Clock::now();
    loss.backward();
    backward = std::min(backward, microseconds_since(start));
    x.set_grad({});
    const NoGrad no_grad;
    start = Clock::now();
    Tensor z = x;
    for (int i = 0; i < length; ++i) z = apply(z);
    forward = std::min(forward, microseconds_since(start));
  }
  report(name, "us_per_operator_forward", record / length);
  report(name, "us_per_operator_recording", (record - forward) / length);
  report(name, "us_per_node_backward", backward / (length + 2));
}

/// Linear 16, ReLU, linear 4 at batch 8.
void measure_network() {
  const Tensor x = randn({8, 16});
  const Tensor w1 = randn({16, 16}).requires_grad_(), b1 = zeros({16}).requires_grad_();
  const Tensor w2 = randn({4, 16}).requires_grad_(), b2 = zeros({4}).requires_grad_();
  double both = 1e30, backward = 1e30;
  for (int round = 0; round < 2000; ++round) {
    const auto start = Clock::now();
    const Tensor hidden = relu(nn::linear(x, w1, b1));
    const Tensor loss = sum(nn::linear(hidden, w2, b2));
    const auto middle = Clock::now();
    loss.backward();
    both = std::min(both, microseconds_since(start));
    backward = std::min(backward, microseconds_since(middle));
    for (const Tensor& parameter : {w1, b1, w2, b2}) parameter.set_grad({});
  }
  report("mlp 16-16-4, batch 8", "us_forward_and_backward", both);
  report("mlp 16-16-4, batch 8", "us_backward", backward);
}

void measure_long_chain() {
  constexpr int length = 1'000'000;
  const Tensor x = ones({1}).requires_grad_();
  const double before = resident_mib();
  const auto start = Clock::now();
  {
    Tensor y = x;
    for (int i = 0; i < length; ++i) y = y * 1.0;
    report("chain of 1000000", "s_recorded", microseconds_since(start) / 1e6);
    sum(y).backward();
    report("chain of 1000000", "s_run", microseconds_since(start) / 1e6);
    report("chain of 1000000", "mib", resident_mib() - before);
  }
  report("chain of 1000000", "s_freed", microseconds_since(start) / 1e6);
}

}  // namespace

}  // namespace fulgurite

int main() {
  using namespace fulgurite;
  set_num_threads(1);
  measure_chain("sin", 100, [](const Tensor& t) { return sin(t); });
  measure_chain("multiplied by itself", 100, [](const Tensor& t) { return t * t; });
  measure_chain("plus a number", 100, [](const Tensor& t) { return t + 1.0; });
  measure_network();
  measure_long_chain();
}
