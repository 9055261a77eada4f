// Random programs of ops that the fuser supports and some that it does not: eager mode, the eager executor under jit,
// and the fuser agree. Against f64 the fuser's error is at most 4 times eager's plus 2 units in the last place;
// integers and the eager executor are equal. f64 has no wider type: there eager's error is that of the program in f32,
// in units of f64, or of f32 for values computed in f32. If an error is larger, eager's is the largest of nine sets.
//   random_fusions [--count 100] [--first 0] [--verbose]
//   random_fusions --equal [--count 100] [--first 0]      pointwise operators, bitwise equal to the eager executor
//   random_fusions --scalar [--count 100] [--first 0]     both kinds of programs, bitwise equal to kernels in scalar
//   form
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <fulgurite/fulgurite.h>

#include "fuzz/equal_fusions.h"
#include "fuzz/fusion_program.h"
#include "fuzz/scalar_fusions.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

double unit_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64: return 0x1p-52;
    case Dtype::f32: return 0x1p-23;
    case Dtype::f16: return 0x1p-10;
    default: return 0x1p-7;
  }
}

std::vector<Tensor> wide(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> out;
  for (const Tensor& t : inputs) out.push_back(is_floating(t.dtype()) ? t.to(Dtype::f64) : t);
  return out;
}

std::vector<Tensor> narrow(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> out;
  for (const Tensor& t : inputs) out.push_back(t.dtype() == Dtype::f64 ? t.to(Dtype::f32) : t);
  return out;
}

double difference(const std::vector<double>& a, const std::vector<double>& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double gap = std::fabs(a[i] - b[i]);
    most = std::max(most, std::isnan(gap) ? HUGE_VAL : gap);
  }
  return most;
}

/// The error bound of eager mode in f64, for each result: rounding grows with the unit, whatever the program computes.
std::vector<double> errors_in_f64(const Program& program, const std::vector<Tensor>& inputs) {
  const std::vector<Tensor> rounded = narrow(inputs), found = program(rounded, false),
                            exact = program(wide(rounded), true);
  std::vector<double> errors;
  for (size_t i = 0; i < found.size(); ++i)
    errors.push_back(difference(numbers_of(found[i]), numbers_of(exact[i])) * unit_of(Dtype::f64) /
                     unit_of(Dtype::f32));
  return errors;
}

/// The error of eager mode on other elements: roundings may cancel by chance on the program's own.
double error_on_other_elements(const Program& program, size_t result) {
  double most = 0;
  for (unsigned i = 1; i <= 8; ++i) {
    Program other = program;
    for (ProgramInput& input : other.inputs) input.seed += 1000 * i;
    const std::vector<Tensor> inputs = other.make_inputs();
    double largest = 0;
    const std::vector<Tensor> exact = other(wide(inputs), true, &largest);
    if (largest > 1e3) continue;
    most = std::max(most, difference(numbers_of(other(inputs, false)[result]), numbers_of(exact[result])));
    most = std::max(most, errors_in_f64(other, inputs)[result]);
  }
  return most;
}

struct Counts {
  int programs = 0, fusions = 0, failures = 0;
};

/// Returns true if some of a trace is computed in f32: such a part of an f64 result is as exact as f32 is.
bool computes_in_f32(const BoundSymbol& bound) {
  const auto is_narrow = [](const Value& value) {
    return value.is_tensor() && is_floating(value.tensor().dtype) && value.tensor().dtype != Dtype::f64;
  };
  return std::ranges::any_of(bound.outputs.read(), is_narrow) ||
         std::ranges::any_of(bound.subsymbols.read(), computes_in_f32);
}

/// The problem of a program; empty if it is inconclusive, because it overflows or its operators reject their arguments,
/// and if there is none.
std::string problem_of(const Program& program, Counts& counts, std::string* trace_text = nullptr) {
  std::vector<Tensor> inputs, reference, eager;
  std::vector<double> in_f64;
  double largest = 0;
  try {
    inputs = program.make_inputs();
    reference = program(wide(inputs), true, &largest);
    if (largest > (program.has_gemms ? 1e7 : 1e3)) return {};
    eager = program(inputs, false);
    in_f64 = errors_in_f64(program, inputs);
  } catch (const UserError&) {
    return {};
  }
  ++counts.programs;
  Trace trace;
  const auto run = [&](std::vector<std::string> executors) {
    auto f = jit([&](std::vector<Tensor> list) { return program(list, false); },
                 {.executors = std::move(executors), .debug = {.check_traces = true}});
    std::vector<Tensor> out = f(inputs);
    trace = last_traces(f).back();
    return out;
  };
  std::vector<Tensor> plain, fused;
  try {
    plain = run({"eager"});
    fused = program.has_gemms ? run({"gemm", "fuser"}) : run({"fuser"});
  } catch (const std::exception& error) {
    return error.what();
  }
  if (trace_text) *trace_text = print(trace, {.time = false, .source = false});
  for (const BoundSymbol& bound : trace.bound_symbols) counts.fusions += bound.is_fusion();
  for (size_t i = 0; i < eager.size(); ++i) {
    const Dtype dtype = eager[i].dtype();
    if (fused[i].shape() != eager[i].shape() || fused[i].dtype() != dtype) return "a result's type is another one";
    const auto exact = numbers_of(reference[i]), by_eager = numbers_of(eager[i]), by_plain = numbers_of(plain[i]),
               by_fuser = numbers_of(fused[i]);
    double size = 1;
    for (const double number : exact) size = std::max(size, std::fabs(number));
    constexpr double units = 2;
    const double of_eager = std::max(difference(by_eager, exact), dtype == Dtype::f64 ? in_f64[i] : 0);
    const bool is_partly_f32 = dtype == Dtype::f64 && std::ranges::any_of(trace.bound_symbols.read(), computes_in_f32);
    double allowed = is_floating(dtype) ? 4 * of_eager + units * unit_of(is_partly_f32 ? Dtype::f32 : dtype) * size : 0;
    const double error = difference(by_fuser, is_floating(dtype) ? exact : by_eager);
    if (error > allowed && is_floating(dtype)) allowed = std::max(allowed, 4 * error_on_other_elements(program, i));
    const double plain_difference = difference(by_plain, by_eager);
    char text[200];
    std::snprintf(text, sizeof text, "result %zu: error %g, eager's %g; the eager executor differs by %g", i, error,
                  of_eager, plain_difference);
    if (error > allowed || (plain_difference != 0 && !program.is_differentiated)) return text;
  }
  return {};
}

/// The program without one of its operators: readers of its value read its left operand.
Program without(const Program& program, size_t number) {
  Program out = program;
  const size_t value = program.operands() + number, instead = program.operators[number].left;
  out.operators.erase(out.operators.begin() + static_cast<std::ptrdiff_t>(number));
  for (Operation& op : out.operators)
    for (size_t* operand : {&op.left, &op.right})
      *operand = *operand == value ? instead : *operand > value ? *operand - 1 : *operand;
  out.results = std::min(out.results, out.operators.size());
  return out;
}

/// The smallest program found that still fails.
Program shrunk(Program program) {
  Counts ignored;
  const auto take_if_it_fails = [&](const Program& candidate) {
    if (candidate.operators.empty() || problem_of(candidate, ignored).empty()) return false;
    program = candidate;
    return true;
  };
  for (bool is_smaller = true; is_smaller;) {
    is_smaller = false;
    for (size_t i = program.operators.size(); i-- > 0;)
      is_smaller = (i < program.operators.size() && take_if_it_fails(without(program, i))) || is_smaller;
    Program simpler = program;
    simpler.results = 1;
    if (program.results > 1) is_smaller = take_if_it_fails(simpler) || is_smaller;
    for (size_t d = 0; d < program.inputs[0].shape.size() && !program.has_gemms; ++d) {
      Program smaller = program;
      const int64_t size = program.inputs[0].shape[d];
      if (size < 2) continue;
      for (ProgramInput& input : smaller.inputs) {
        const size_t from_end = program.inputs[0].shape.size() - d;
        if (from_end <= input.shape.size() && input.shape[input.shape.size() - from_end] == size)
          input.shape[input.shape.size() - from_end] = size / 2;
      }
      is_smaller = take_if_it_fails(smaller) || is_smaller;
    }
    for (size_t i = 0; i < program.inputs.size(); ++i) {
      Program plain = program;
      if (plain.inputs[i].layout == 0) continue;
      plain.inputs[i].layout = 0;
      is_smaller = take_if_it_fails(plain) || is_smaller;
    }
  }
  return program;
}

void check(unsigned seed, bool is_verbose, Counts& counts) {
  const Program program = random_program(seed);
  if (is_verbose) std::printf("program %u\n", seed), std::fflush(stdout);
  const std::string problem = problem_of(program, counts);
  if (problem.empty()) return;
  ++counts.failures;
  const Program small = shrunk(program);
  Counts ignored;
  std::string trace;
  std::printf("FAILED: program %u: %s\n", seed, problem.c_str());
  const std::string now = problem_of(small, ignored, &trace);
  std::printf("its smallest form%s: %s\n%s\n", small.is_differentiated ? " (differentiated)" : "", now.c_str(),
              trace.c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  unsigned count = 100, first = 0;
  bool is_verbose = false, is_equal = false, is_scalar = false;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--verbose")) is_verbose = true;
    else if (!std::strcmp(argv[i], "--equal")) is_equal = true;
    else if (!std::strcmp(argv[i], "--scalar")) is_scalar = true;
    else if (!std::strcmp(argv[i], "--count") && i + 1 < argc) count = static_cast<unsigned>(std::atoi(argv[++i]));
    else if (!std::strcmp(argv[i], "--first") && i + 1 < argc) first = static_cast<unsigned>(std::atoi(argv[++i]));
    else return std::fprintf(stderr, "unknown argument %s\n", argv[i]), 2;
  }
  if (is_scalar) {
    const int pointwise = check_scalar_pointwise(first, count);
    return pointwise + check_scalar_fusions(first, count) > 0;
  }
  if (is_equal) return check_equal_fusions(first, count) > 0;
  Counts counts;
  for (unsigned seed = first; seed < first + count; ++seed) check(seed, is_verbose, counts);
  std::printf("%d programs, %d fusions, %d failures\n", counts.programs, counts.fusions, counts.failures);
  return counts.failures > 0;
}
