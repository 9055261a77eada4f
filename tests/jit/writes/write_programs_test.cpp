// Random programs of views, in-place writes and arguments that share memory: eager, jitted, with graph breaks and
// differentiated by value_and_grad. tools/fuzz writes compares them with PyTorch.
#include <cmath>
#include <cstdio>
#include <functional>

#include <fulgurite/fulgurite.h>

#include "support/programs/write_program.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

using Outcome = std::vector<std::vector<double>>;

std::vector<double> numbers(const Tensor& x) {
  return x.defined() ? x.detach().contiguous().to_vector<double>() : std::vector<double>();
}

bool are_near(const Outcome& a, const Outcome& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].size() != b[i].size()) return false;
    for (size_t k = 0; k < a[i].size(); ++k)
      if (!(std::fabs(a[i][k] - b[i][k]) <= 1e-9 * std::max(1.0, std::fabs(b[i][k])))) return false;
  }
  return true;
}

/// Results, buffers afterwards, and gradients of the leaves.
Outcome outcome(const std::function<std::vector<Tensor>(std::vector<Tensor>)>& run, const WriteProgram& program) {
  const std::vector<Tensor> arguments = program.arguments(true);
  const std::vector<Tensor> results = run(arguments);
  Outcome out;
  for (const Tensor& result : results) out.push_back(numbers(result));
  out.push_back(numbers(arguments[2]));
  out.push_back(numbers(arguments[3]));
  WriteProgram::loss(results).backward();
  out.push_back(numbers(arguments[0].grad()));
  out.push_back(numbers(arguments[1].grad()));
  return out;
}

Outcome functional_outcome(const WriteProgram& program) {
  const auto loss = [&program](Tensor a, Tensor b, Tensor c, Tensor d) {
    std::vector<Tensor> results = program.run({a, b, c, d});
    const Tensor total = WriteProgram::loss(results);
    return std::tuple(total, results);
  };
  const auto step = jit(value_and_grad<0, 1>(loss));
  const NoGrad no_grad;
  const std::vector<Tensor> arguments = program.arguments(false);
  const auto [value, gradients] = step(arguments[0], arguments[1], arguments[2], arguments[3]);
  Outcome out;
  for (const Tensor& result : std::get<1>(value)) out.push_back(numbers(result));
  for (const Tensor& tensor : {arguments[2], arguments[3], std::get<0>(gradients), std::get<1>(gradients)})
    out.push_back(numbers(tensor));
  return out;
}

}  // namespace

TEST("random programs of writes do the same eagerly, jitted, with graph breaks and under value_and_grad") {
  constexpr unsigned count = 200;
  unsigned differ = 0, refused = 0;
  for (unsigned seed = 0; seed < count; ++seed) {
    const WriteProgram program = draw_write_program(seed);
    Outcome eager;
    try {
      eager = outcome([&](const std::vector<Tensor>& a) { return program.run(a); }, program);
    } catch (const UserError&) {
      ++refused;  // what a gradient needs was overwritten
      continue;
    }
    const auto compare = [&](const char* way, const std::function<Outcome()>& run) {
      try {
        if (are_near(run(), eager)) return;
        if (++differ < 5) std::printf("program %u, %s, differs: %s\n", seed, way, program.json().c_str());
      } catch (const UserError& error) {
        // A subgraph has one backward: unneeded values that it saved must not be overwritten either.
        if (std::string(way) == "in pieces" &&
            std::string(error.what()).find("needed for backward") != std::string::npos)
          return;
        if (++differ < 5) std::printf("program %u, %s: %s\n", seed, way, error.what());
      }
    };
    const auto whole = jit([&program](std::vector<Tensor> a) { return program.run(a); });
    const std::vector<int> breaks = {static_cast<int>(seed % 3), static_cast<int>(seed % 5)};
    const auto broken = jit([&](std::vector<Tensor> a) { return program.run(a, breaks); });
    for (int call = 0; call < 2; ++call) {
      compare("jitted", [&] { return outcome([&](const std::vector<Tensor>& a) { return whole(a); }, program); });
      compare("in pieces", [&] { return outcome([&](const std::vector<Tensor>& a) { return broken(a); }, program); });
    }
    compare("value_and_grad", [&] { return functional_outcome(program); });
  }
  expect_equal(differ, 0u);
  expect_less(refused, count / 4);
}
