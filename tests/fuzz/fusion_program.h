#pragma once
// Random programs of ops that the fuser supports and some that it does not.
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <fulgurite/fulgurite.h>

namespace fulgurite::test {

inline std::vector<double> numbers_of(const Tensor& t) { return t.to(Dtype::f64).contiguous().to_vector<double>(); }

/// One operator of a program, on values by their number: inputs come first.
struct Operation {
  unsigned kind, detail;
  size_t left, right;
};
struct ProgramInput {
  std::vector<int64_t> shape;
  Dtype dtype;
  unsigned layout, seed;
};

inline constexpr unsigned pointwise_kinds = 26, operator_kinds = 40, gemm_kind = operator_kinds;

/// The same operators each time it is run, whatever its inputs' elements; in the reference every floating dtype is f64.
/// Some programs are differentiated: their results are the gradients of the sum of the squares of what they compute, or
/// of what makes their backward wait for it.
struct Program {
  std::vector<ProgramInput> inputs;  // the last one is a mask; where there are products a weight is before it
  std::vector<Operation> operators;
  size_t results = 1;
  bool is_differentiated = false, has_gemms = false, waits_for_loss = false;
  /// The number of the first operator's value.
  size_t operands() const { return inputs.size() - (has_gemms ? 2 : 1); }

  std::vector<Tensor> make_inputs() const {
    std::vector<Tensor> out;
    for (const ProgramInput& input : inputs) out.push_back(made(input));
    return out;
  }

  std::vector<Tensor> operator()(const std::vector<Tensor>& given, bool is_reference, double* largest = nullptr) const {
    if (!is_differentiated) return values(given, is_reference, largest);
    if (largest) values(given, is_reference, largest);
    const auto loss = [this, is_reference](std::vector<Tensor> tensors) {
      Tensor total;
      for (const Tensor& result : values(tensors, is_reference, nullptr)) {
        if (!is_floating(result.dtype())) continue;
        const Tensor squares = sum(result * result);
        total = total.defined() ? total + squares : squares;
      }
      return waits_for_loss && total.defined() ? total * tanh(total) : total;
    };
    const auto [value, gradients] = value_and_grad<0>(loss)(given);
    std::vector<Tensor> out{value};
    for (size_t i = 0; i < given.size(); ++i)
      if (is_floating(given[i].dtype())) out.push_back(gradients[i]);
    if (largest)
      for (const Tensor& tensor : out) note(tensor, *largest);
    return out;
  }

 private:
  std::vector<Tensor> values(const std::vector<Tensor>& given, bool is_reference, double* largest) const {
    std::vector<Tensor> all(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(operands()));
    const Tensor mask = given.back();
    for (const Operation& op : operators) {
      all.push_back(op.kind == gemm_kind ? product(all[op.left], given[given.size() - 2], op.detail)
                                         : apply(op, all[op.left], all[op.right], mask, is_reference));
      if (largest) note(all.back(), *largest);
    }
    std::vector<Tensor> out;
    for (size_t i = 0; i < results; ++i) out.push_back(all[all.size() - 1 - i]);
    return out;
  }

  static void note(const Tensor& t, double& largest) {
    if (!is_floating(t.dtype())) return;
    for (const double number : numbers_of(t))
      largest = std::isfinite(number) ? std::max(largest, std::fabs(number)) : 1e300;
  }

  // Elements in [-2, 2], in one of several layouts.
  static Tensor made(const ProgramInput& input) {
    std::mt19937 random(input.seed);
    std::vector<int64_t> sizes = input.shape;
    if (input.layout == 1 && sizes.size() > 1) std::swap(sizes[0], sizes.back());
    if (input.layout == 2) sizes.back() = 2 * sizes.back();
    int64_t count = 1;
    for (const int64_t size : sizes) count *= size;
    std::vector<double> numbers;
    for (int64_t i = 0; i < count; ++i)
      numbers.push_back(is_floating(input.dtype)
                            ? static_cast<double>(random() % 4001) / 1000 - 2
                            : static_cast<double>(random() % 5) - (input.dtype == Dtype::u8 ? 0 : 2));
    Tensor out = tensor(numbers).reshape(sizes).to(input.dtype);
    if (input.layout == 1 && sizes.size() > 1) out = out.transpose(0, -1);
    if (input.layout == 2) out = out(Ellipsis, Slice({}, {}, 2));
    return out;
  }

  // Elements stay about as large as they were.
  static Tensor product(const Tensor& x, const Tensor& weight, unsigned detail) {
    if (!is_floating(x.dtype()) || x.ndim() != 2 || x.size(-1) != weight.size(0)) return x;
    const Tensor small = (weight * 0.05).to(x.dtype());
    if (detail % 2 == 0) return matmul(x, weight.to(x.dtype())) * 0.05;
    return detail % 4 == 1 ? matmul(x, small) : nn::linear(x, small, select(small, 0, 0));
  }

  static Tensor floating(const Tensor& x, bool is_reference) {
    return is_floating(x.dtype()) ? x : x.to(is_reference ? Dtype::f64 : Dtype::f32);
  }

  static Tensor apply(const Operation& op, Tensor a, Tensor b, const Tensor& mask, bool is_reference) {
    const unsigned detail = op.detail;
    if (op.kind < 2 && !is_floating(a.dtype()) && a.dtype() != Dtype::boolean) return op.kind == 0 ? a + 3 : a * a;
    const Tensor x = floating(a, is_reference);
    switch (op.kind) {
      case 0: return tanh(x);
      case 1: return sigmoid(x);
      case 2: return exp(tanh(x));
      case 3: return sin(x);
      case 4: return cos(x);
      case 5: return erf(x);
      case 6: return gelu(x);
      case 7: return nn::gelu(x, "tanh");
      case 8: return silu(x);
      case 9: return relu(x);
      case 10: return abs(x);
      case 11: return neg(x);
      case 12: return sqrt(abs(x) + 0.25);
      case 13: return log1p(abs(x));
      case 14: return rsqrt(abs(x) + 0.5);
      case 15: return x + floating(b, is_reference);
      case 16: return x - floating(b, is_reference);
      case 17: return x * tanh(floating(b, is_reference));
      case 18: return x / (abs(floating(b, is_reference)) + 0.75);
      case 19: return maximum(x, floating(b, is_reference));
      case 20: return minimum(x, floating(b, is_reference));
      case 21: return where(mask, x, floating(b, is_reference));
      case 22: return x.masked_fill(mask, 0.5);
      case 23: return clamp(x, -0.5, 1.25);
      case 24:
        return x.to(is_reference      ? Dtype::f64
                    : detail % 3 == 0 ? Dtype::bf16
                    : detail % 3 == 1 ? Dtype::f32
                                      : Dtype::f16);
      case 25: return x * 0.37 + 0.11;
      case 26: return softmax(x, -1);
      case 27: return log_softmax(x, -1);
      case 28: return cumsum(x * 0.125, -1);  // no fuser takes it
      case 29: return flip(x, {0});
      case 30: return (x.reshape({-1}) * 1.5).reshape(x.shape());
      case 31: return tanh(x.unsqueeze(0)).squeeze(0);
      case 32: return x.size(0) == x.size(-1) ? x.transpose(0, -1) + 0.5 : x;
      case 33:
        return x.ndim() == 2 && static_cast<int64_t>(x.numel()) < 10000
                   ? matmul(x, x.transpose(0, 1)).softmax(-1).matmul(x)
                   : x;
      default: break;
    }
    const bool is_empty = static_cast<int64_t>(x.numel()) == 0;
    const int64_t dim = detail % 4 == 0 ? 0 : -1;
    const bool keeps = detail % 3 != 0 || x.ndim() == 1;
    switch (op.kind) {
      case 34: return sum(x * 0.125, {dim}, keeps);
      case 35: return is_empty ? x : mean(x, {dim}, keeps);
      case 36: return is_empty ? x : amax(x, {dim}, keeps);
      case 37: return is_empty ? x : amin(x, {dim}, keeps);
      case 38: return is_empty ? x : x - mean(x, {-1}, true);
      default: return is_empty ? x : nn::layer_norm(x, {x.size(-1)});
    }
  }
};

inline Program random_program(unsigned seed) {
  std::mt19937 random(seed * 7919u + 1);
  static constexpr int64_t sizes[] = {0, 1, 2, 3, 5, 8, 16, 17, 33, 70};
  static constexpr Dtype dtypes[] = {Dtype::f32, Dtype::f32, Dtype::f32, Dtype::bf16, Dtype::f16, Dtype::f64,
                                     Dtype::i64, Dtype::i32, Dtype::i16, Dtype::i8,   Dtype::u8,  Dtype::boolean};
  Program program;
  program.has_gemms = seed % 40 == 17;
  std::vector<int64_t> shape;
  const size_t rank = program.has_gemms ? 2 : 1 + random() % 3;
  const auto large = [&](size_t d) {
    return static_cast<int64_t>((d == 0 ? 1024 : 256) + random() % 40);
  };  // there are generated products of these
  for (size_t d = 0; d < rank; ++d)
    shape.push_back(program.has_gemms ? large(d) : sizes[(random() % 8 == 0 ? 0 : 1) + random() % 9]);
  const auto smaller = [&] {
    std::vector<int64_t> out(shape.begin() + static_cast<int64_t>(random() % 3 == 0 ? random() % shape.size() : 0),
                             shape.end());
    for (int64_t& size : out)
      if (random() % 4 == 0) size = 1;
    return out;
  };
  program.is_differentiated = random() % 3 == 0;
  program.waits_for_loss = seed % 2 == 1;
  const Dtype main_dtype = program.has_gemms           ? (random() % 4 ? Dtype::bf16 : Dtype::f32)
                           : program.is_differentiated ? (random() % 3 ? Dtype::f32 : Dtype::f64)
                                                       : dtypes[random() % 6];
  const size_t count = 2 + random() % 3;
  for (size_t i = 0; i < count; ++i)
    program.inputs.push_back({i == 0 ? shape : smaller(),
                              random() % 4 || program.is_differentiated ? main_dtype : dtypes[random() % 12],
                              static_cast<unsigned>(random() % 4), seed + static_cast<unsigned>(i)});
  if (program.has_gemms)
    program.inputs.push_back(
        {{shape[1], shape[1]}, random() % 2 ? main_dtype : Dtype::f32, static_cast<unsigned>(random() % 2), seed + 78});
  program.inputs.push_back({shape, Dtype::boolean, static_cast<unsigned>(random() % 4), seed + 77});
  size_t values = program.operands();
  const size_t operators = 2 + random() % (seed % 10 == 0 ? 30 : 10);
  for (size_t i = 0; i < operators; ++i, ++values) {
    const auto pick = [&] { return random() % 2 ? values - 1 : random() % values; };
    size_t left = pick(), right = pick();
    auto kind = static_cast<unsigned>(random() % operator_kinds);
    if (program.has_gemms) {
      // A matmul every few operators, and what follows it mostly computed element by element.
      if (i % 4 == 0) kind = gemm_kind;
      else if (random() % 4 != 0) kind %= pointwise_kinds, left = values - 1;
    }
    program.operators.push_back({kind, static_cast<unsigned>(random()), left, right});
  }
  program.results = std::min<size_t>(1 + random() % 3, operators);
  return program;
}

}  // namespace fulgurite::test
