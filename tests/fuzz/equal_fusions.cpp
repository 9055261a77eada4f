#include "fuzz/equal_fusions.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include <fulgurite/fulgurite.h>

#include "support/scalar_executors.h"

using namespace fulgurite;

namespace fulgurite::test {

namespace {

// torch.nn.functional.relu is "F.relu".
constexpr const char* unary[] = {
    "abs",          "neg",          "exp",          "exp2",         "expm1",         "log",         "log2",
    "log10",        "log1p",        "sqrt",         "rsqrt",        "reciprocal",    "square",      "sin",
    "cos",          "tan",          "asin",         "acos",         "atan",          "sinh",        "cosh",
    "tanh",         "erf",          "sigmoid",      "frac",         "deg2rad",       "rad2deg",     "nan_to_num",
    "asinh",        "erfc",         "sinc",         "floor",        "ceil",          "round",       "trunc",
    "sign",         "F.relu",       "F.silu",       "F.gelu",       "F.hardtanh",    "F.relu6",     "F.mish",
    "F.selu",       "F.elu",        "F.celu",       "F.softplus",   "F.hardsigmoid", "F.hardswish", "F.hardshrink",
    "F.softshrink", "F.tanhshrink", "F.leaky_relu", "F.logsigmoid", "F.softsign",    "abs",         "neg",
    "F.relu",       "tanh"};
constexpr const char* binary[] = {"add",  "sub",     "mul",       "div",   "add",      "sub",
                                  "mul",  "maximum", "minimum",   "atan2", "copysign", "hypot",
                                  "fmax", "fmin",    "logaddexp", "fmod",  "mul",      "add"};
constexpr const char* comparisons[] = {"eq", "ne", "lt", "le", "gt", "ge"};

std::string full_name(std::string_view name) {
  return name.starts_with("F.") ? "torch.nn.functional." + std::string(name.substr(2)) : "torch." + std::string(name);
}

/// One operator, on values by their number: inputs come first.
struct Step {
  unsigned kind, detail;
  double number;
  size_t left, right, third;
};

struct PointwiseProgram {
  unsigned seed;
  std::vector<Shape> shapes;  // of the inputs, the first one's is the result's
  std::vector<Dtype> dtypes;
  std::vector<Step> steps;
  size_t results;
  bool is_differentiated;

  std::vector<Tensor> make_inputs() const;
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) const;
};

// Mostly of ordinary size; zeros of either sign, infinities and very large and small numbers are among them.
double random_element(std::mt19937& random) {
  static constexpr double special[] = {0.0,    -0.0,  INFINITY, -INFINITY, NAN, -NAN, 1e30,
                                       -1e-30, 1e-40, 70000,    0.5,       -1,  3e38, 6e-8};
  if (random() % 24 == 0) return special[random() % std::size(special)];
  return (static_cast<double>(random() % 80001) / 10000 - 4) * (random() % 16 == 0 ? 1e4 : 1);
}

std::vector<Tensor> PointwiseProgram::make_inputs() const {
  std::mt19937 random(seed * 31 + 5);
  std::vector<Tensor> out;
  for (size_t i = 0; i < shapes.size(); ++i) {
    std::vector<double> numbers(static_cast<size_t>(static_cast<int64_t>(shapes[i].numel())));
    for (double& number : numbers) number = random_element(random);
    std::vector<int64_t> sizes;
    for (const Int& size : shapes[i]) sizes.push_back(size);
    const bool is_transposed = sizes.size() > 1 && random() % 4 == 0;
    if (is_transposed) std::swap(sizes.front(), sizes.back());
    const Tensor made = tensor(numbers).to(dtypes[i]).reshape(sizes);
    out.push_back(is_transposed ? made.transpose(0, -1) : made);
  }
  return out;
}

Tensor apply(const Step& step, Tensor x, Tensor y, const Tensor& z, bool is_computed) {
  const unsigned detail = step.detail;
  const auto number = [&](double given) { return Value(Float(given)); };
  switch (step.kind) {
    case 0:
    case 1:
    case 2: return Tensor(call(full_name(unary[detail % std::size(unary)]), {x}));
    case 3:
    case 4:
      // The sign of a computed NaN depends on the order of operands, which compilers choose; an input's is a bit like
      // others.
      if (is_computed && std::string_view(binary[detail % std::size(binary)]) == "copysign")
        y = Tensor(call("torch.nan_to_num", {y}));
      return Tensor(call(full_name(binary[detail % std::size(binary)]), {x, y}));
    case 5: return detail % 2 ? x * step.number + y : x - y * step.number;
    case 6: return detail % 2 ? add(x, y, step.number) : sub(x, y, step.number);
    case 7: {
      const Tensor mask(call(full_name(comparisons[detail % std::size(comparisons)]), {x, z}));
      return detail % 3 == 0 ? x.masked_fill(mask, step.number) : where(mask, x, y);
    }
    case 8: {
      static constexpr double powers[] = {0.5, -0.5, -1, -2, 1, 2, 3};
      return pow(x, powers[detail % std::size(powers)]);
    }
    case 9: return detail % 2 ? clamp(x, -std::fabs(step.number), std::fabs(step.number) + 0.25) : nn::gelu(x, "tanh");
    case 10: return Tensor(call("torch.lerp", {x, y, detail % 2 ? Value(z.to(x.dtype())) : number(step.number)}));
    case 11:
      return Tensor(call(detail % 2 ? "torch.addcmul" : "torch.addcdiv", {x, y, z},
                         {{"value", number(detail % 4 < 2 ? 1 : step.number)}}));
    case 12: {
      static constexpr Dtype dtypes[] = {Dtype::f32, Dtype::bf16, Dtype::f16, Dtype::f32};
      return x.to(dtypes[detail % std::size(dtypes)]);
    }
    case 13: return x * (detail % 2 ? 2.0 : -4.0);
    default: return x * y - z * y;
  }
}

std::vector<Tensor> PointwiseProgram::operator()(const std::vector<Tensor>& inputs) const {
  const auto values = [this](const std::vector<Tensor>& given) {
    std::vector<Tensor> all(given);
    for (const Step& step : steps)
      all.push_back(apply(step, all[step.left], all[step.right], all[step.third], step.right >= given.size()));
    return std::vector<Tensor>(all.end() - static_cast<std::ptrdiff_t>(results), all.end());
  };
  if (!is_differentiated) return values(inputs);
  const auto loss = [&](std::vector<Tensor> given) {
    Tensor total;
    for (const Tensor& result : values(given)) {
      const Tensor part = sum(result.to(Dtype::f64));
      total = total.defined() ? total + part : part;
    }
    return total;
  };
  const auto [value, gradients] = value_and_grad<0>(loss)(inputs);
  // Gradients of inputs that are broadcast are sums.
  std::vector<Tensor> out;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (shapes[i].text() == shapes[0].text()) out.push_back(gradients[i]);
  return out;
}

PointwiseProgram random_pointwise_program(unsigned seed) {
  std::mt19937 random(seed * 7919u + 3);
  static constexpr int64_t sizes[] = {2, 3, 5, 16, 17, 33, 40};
  static constexpr Dtype dtypes[] = {Dtype::f32, Dtype::f64, Dtype::bf16, Dtype::f16, Dtype::f32, Dtype::bf16};
  PointwiseProgram program{seed, {}, {}, {}, 1, false};
  std::vector<int64_t> full;
  for (size_t d = 1 + random() % 3; d > 0; --d) full.push_back(sizes[random() % std::size(sizes)]);
  const Dtype main_dtype = dtypes[random() % std::size(dtypes)];
  for (size_t i = 0, count = 2 + random() % 3; i < count; ++i) {
    std::vector<int64_t> shape(
        full.begin() + static_cast<std::ptrdiff_t>(i > 0 && random() % 4 == 0 ? random() % full.size() : 0),
        full.end());
    for (int64_t& size : shape)
      if (i > 0 && random() % 8 == 0) size = 1;
    program.shapes.emplace_back(shape);
    program.dtypes.push_back(random() % 6 == 0 ? dtypes[random() % std::size(dtypes)] : main_dtype);
  }
  const size_t count = 2 + random() % (seed % 8 == 0 ? 20 : 8);
  for (size_t i = 0; i < count; ++i) {
    const size_t values = program.shapes.size() + i;
    // The first operand is the value computed last, or has at least the result's size.
    const size_t left = i == 0 ? 0 : random() % 3 ? values - 1 : 0;
    program.steps.push_back({static_cast<unsigned>(random() % 15), static_cast<unsigned>(random()),
                             static_cast<double>(random() % 4001) / 1000 - 2, left, random() % values,
                             random() % values});
  }
  program.results = std::min<size_t>(1 + random() % 3, count);
  program.is_differentiated = random() % 4 == 0;
  return program;
}

std::string differing(const Tensor& actual, const Tensor& expected) {
  if (actual.dtype() != expected.dtype() || actual.shape().text() != expected.shape().text()) return "another type";
  const auto a = actual.to(Dtype::f64).contiguous().to_vector<double>(),
             b = expected.to(Dtype::f64).contiguous().to_vector<double>();
  char text[100];
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<uint64_t>(a[i]) == std::bit_cast<uint64_t>(b[i]) || (std::isnan(a[i]) && std::isnan(b[i])))
      continue;
    std::snprintf(text, sizeof text, "element %zu is %.17g, not %.17g", i, a[i], b[i]);
    return text;
  }
  return {};
}

/// Some programs that are compiled together: the compiler reads the kernel headers once for all of them.
struct Batch {
  std::vector<PointwiseProgram> programs;
  std::vector<size_t> first_input;
  std::vector<Tensor> inputs;

  void add(PointwiseProgram program) {
    first_input.push_back(inputs.size());
    for (const Tensor& input : program.make_inputs()) inputs.push_back(input);
    programs.push_back(std::move(program));
  }
  std::vector<Tensor> run(const std::vector<Tensor>& given) const {
    std::vector<Tensor> out;
    for (size_t i = 0; i < programs.size(); ++i) {
      const auto begin = given.begin() + static_cast<std::ptrdiff_t>(first_input[i]);
      for (const Tensor& result :
           programs[i](std::vector<Tensor>(begin, begin + static_cast<std::ptrdiff_t>(programs[i].shapes.size()))))
        out.push_back(result);
    }
    return out;
  }
};

struct Found {
  std::vector<std::string> problems;  // by program
  int fusions = 0;
  std::string trace;
};

/// The executors whose results are compared: the fuser and the eager executor, or the fuser's two forms of kernels.
enum class Compared { eager, forms };

Found compare(const Batch& batch, Compared compared) {
  Found found{std::vector<std::string>(batch.programs.size()), 0, {}};
  const auto compiled = [&](std::vector<std::string> executors, bool is_fused) {
    auto f = jit([&](std::vector<Tensor> inputs) { return batch.run(inputs); }, {.executors = std::move(executors)});
    std::vector<Tensor> out = f(batch.inputs);
    const Trace trace = last_traces(f).back();
    for (const BoundSymbol& bound : trace.bound_symbols) found.fusions += is_fused && bound.is_fusion();
    if (is_fused) found.trace = print(trace, {.time = false, .source = false});
    return out;
  };
  const bool are_forms = compared == Compared::forms;
  const std::vector<Tensor> fused = compiled({are_forms ? "scalar_fuser" : "fuser"}, true),
                            plain = compiled({are_forms ? "fuser" : "eager"}, false),
                            eager = are_forms ? plain : batch.run(batch.inputs);
  size_t at = 0;
  for (size_t i = 0; i < batch.programs.size(); ++i) {
    const PointwiseProgram& program = batch.programs[i];
    const size_t count = program(program.make_inputs()).size();
    for (size_t k = 0; k < count; ++k, ++at) {
      std::string difference = differing(fused[at], plain[at]);
      if (!difference.empty()) found.problems[i] = (are_forms ? "the scalar form: " : "the fuser: ") + difference;
      difference = differing(plain[at], eager[at]);
      if (!difference.empty() && !program.is_differentiated) found.problems[i] = "the eager executor: " + difference;
    }
  }
  return found;
}

std::string problem_of(const PointwiseProgram& program, Compared compared, std::string* trace = nullptr) {
  try {
    program(program.make_inputs());
  } catch (const UserError&) {
    return {};
  }
  Batch alone;
  alone.add(program);
  const Found found = compare(alone, compared);
  if (trace != nullptr) *trace = found.trace;
  return found.problems[0];
}

/// With as few operators and results as it still fails with.
PointwiseProgram shrunk(PointwiseProgram program, Compared compared) {
  for (bool is_smaller = true; is_smaller;) {
    is_smaller = false;
    for (size_t i = program.steps.size(); i-- > 0 && program.steps.size() > 1;) {
      PointwiseProgram less = program;
      const size_t value = program.shapes.size() + i, instead = program.steps[i].left;
      less.steps.erase(less.steps.begin() + static_cast<std::ptrdiff_t>(i));
      for (Step& step : less.steps)
        for (size_t* operand : {&step.left, &step.right, &step.third})
          *operand = *operand == value ? instead : *operand > value ? *operand - 1 : *operand;
      less.results = std::min(less.results, less.steps.size());
      if (problem_of(less, compared).empty()) continue;
      program = less;
      is_smaller = true;
    }
    PointwiseProgram one = program;
    one.results = 1;
    if (program.results > 1 && !problem_of(one, compared).empty()) program = one, is_smaller = true;
  }
  return program;
}

int check(unsigned first, unsigned count, Compared compared) {
  constexpr size_t together = 25;
  int programs = 0, fusions = 0, failures = 0;
  for (unsigned seed = first; seed < first + count;) {
    Batch batch;
    for (; seed < first + count && batch.programs.size() < together; ++seed) {
      PointwiseProgram program = random_pointwise_program(seed);
      try {
        program(program.make_inputs());
      } catch (const UserError&) {
        continue;  // an operator refuses its dtypes
      }
      batch.add(std::move(program));
    }
    const Found found = compare(batch, compared);
    programs += static_cast<int>(batch.programs.size());
    fusions += found.fusions;
    for (size_t i = 0; i < batch.programs.size(); ++i) {
      if (found.problems[i].empty()) continue;
      ++failures;
      std::printf("FAILED: pointwise program %u: %s\n", batch.programs[i].seed, found.problems[i].c_str());
      if (problem_of(batch.programs[i], compared).empty()) continue;  // only together with others
      std::string trace;
      const PointwiseProgram small = shrunk(batch.programs[i], compared);
      const std::string now = problem_of(small, compared, &trace);
      std::printf("its smallest form%s: %s\n%s\n", small.is_differentiated ? " (differentiated)" : "", now.c_str(),
                  trace.c_str());
      std::fflush(stdout);
    }
  }
  std::printf("%d programs, %d fusions, %d failures\n", programs, fusions, failures);
  return failures;
}

}  // namespace

int check_equal_fusions(unsigned first, unsigned count) { return check(first, count, Compared::eager); }

int check_scalar_pointwise(unsigned first, unsigned count) {
  register_scalar_executors();
  return check(first, count, Compared::forms);
}

}  // namespace fulgurite::test
