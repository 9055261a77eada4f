// Functions that programs for LibTorch call, as compositions of operators; and the limits of dtypes.
#include <fulgurite/libtorch_names.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <fulgurite/compositions.h>
#include <fulgurite/error.h>

#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

namespace {

void require_defined(const Tensor& x, const char* name, SourceLocation at) {
  if (!x.defined()) throw UserError(text::cat(name, ": the input is an undefined tensor"), at);
}

// An operand of no elements with the same part in promotion.
Tensor typed(const Operand& operand, const char* name, SourceLocation at) {
  if (operand.kind() == Operand::Kind::none)
    throw UserError(text::cat(name, ": an argument is an undefined tensor"), at);
  if (!operand.is_tensor()) return {};
  const Tensor& tensor = operand.tensor();
  return zeros(tensor.ndim() == 0 ? Dims() : Dims(0), {.dtype = tensor.dtype()}, at);
}

}  // namespace

std::tuple<Tensor, Tensor> aminmax(const Tensor& input, std::optional<int64_t> dim, bool keepdim, SourceLocation at) {
  require_defined(input, "aminmax", at);
  const Dims dims = dim ? Dims(*dim) : Dims();
  const Tensor least = amin(input, dims, keepdim, at);
  return {least, amax(input, dims, keepdim, at)};
}

Tensor sgn(const Tensor& input, SourceLocation at) { return sign(input, at); }

Tensor float_power(const Operand& input, const Operand& exponent, SourceLocation at) {
  const auto wide = [at](const Operand& operand) {
    if (operand.kind() == Operand::Kind::none) throw UserError("float_power: an argument is an undefined tensor", at);
    return operand.is_tensor() ? operand.tensor().to(Dtype::f64, at)
                               : scalar_tensor(operand, {.dtype = Dtype::f64}, at);
  };
  const Tensor base = wide(input);
  return pow(base, wide(exponent), at);
}

Tensor addr(const Tensor& input, const Tensor& vec1, const Tensor& vec2, double beta, double alpha, SourceLocation at) {
  const Tensor product = outer(vec1, vec2, at);
  const Tensor scaled = beta == 1 ? input : mul(input, beta, at);
  return add(scaled, product, alpha, at);
}

Tensor renorm(const Tensor& input, double p, int64_t dim, double maxnorm, SourceLocation at) {
  require_defined(input, "renorm", at);
  if (!(p > 0)) throw UserError(text::cat("renorm: the order p must be above 0, not ", p), at);
  if (!(maxnorm >= 0)) throw UserError(text::cat("renorm: maxnorm must not be negative: ", maxnorm), at);
  const int64_t count = input.ndim(), kept = dim < 0 ? dim + count : dim;
  if (kept < 0 || kept >= count || count < 2)
    throw UserError(text::cat("renorm: no dimension ", dim, " beside others in ", type_text(input)), at);
  Shape others;
  for (int64_t d = 0; d < count; ++d)
    if (d != kept) others.push_back(d);
  constexpr double guard = 1e-7;  // against a division by 0, PyTorch's
  const Tensor norms = linalg::vector_norm(input, p, Dims(others), true, {}, at);
  const Tensor factors = div(maxnorm, add(norms, guard, 1, at), {}, at);
  return mul(input, where(gt(norms, maxnorm, at), factors, 1.0, at), at);
}

Tensor round(const Tensor& input, int64_t decimals, SourceLocation at) {
  require_defined(input, "round", at);
  if (decimals == 0) return round(input, at);
  if (!is_floating(input.dtype()))
    throw UserError(text::cat("round: decimals are for floating tensors, not ", type_text(input)), at);
  const double power = std::pow(10.0, static_cast<double>(std::abs(decimals)));
  if (decimals > 0) return div(round(mul(input, power, at), at), power, {}, at);
  return mul(round(div(input, power, {}, at), at), power, at);
}

Tensor ravel(const Tensor& input, SourceLocation at) { return reshape(input, {-1}, at); }

Tensor scalar_tensor(const Operand& value, const TensorOptions& options, SourceLocation at) {
  TensorOptions given = options;
  if (!given.dtype) given.dtype = default_dtype();
  return full({}, value, given, at);
}

Dtype result_type(const Operand& a, const Operand& b, SourceLocation at) {
  const Tensor one = typed(a, "result_type", at);
  const Tensor other = typed(b, "result_type", at);
  if (one.defined() && other.defined()) return add(one, other, 1, at).dtype();
  if (one.defined()) return add(one, b, 1, at).dtype();
  if (other.defined()) return add(a, other, 1, at).dtype();
  const auto kind = std::max(a.kind(), b.kind(), [](Operand::Kind x, Operand::Kind y) {
    const auto rank = [](Operand::Kind kind) {
      return kind == Operand::Kind::floating ? 2 : kind == Operand::Kind::integer ? 1 : 0;
    };
    return rank(x) < rank(y);
  });
  if (kind == Operand::Kind::floating) return default_dtype();
  return kind == Operand::Kind::integer ? Dtype::i64 : Dtype::boolean;
}

bool can_cast(Dtype from, Dtype to) {
  if (is_floating(from)) return is_floating(to);
  return is_boolean(from) || !is_boolean(to);
}

Shape broadcast_shapes(const std::vector<Shape>& shapes, SourceLocation at) {
  Shape out;
  for (const Shape& shape : shapes) {
    while (out.size() < shape.size()) out.insert(0, 1);
    for (size_t i = 0; i < shape.size(); ++i) {
      Int& size = out[out.size() - shape.size() + i];
      if (size == 1) size = shape[i];
      else if (shape[i] != 1 && shape[i] != size)
        throw UserError(text::cat("broadcast_shapes: ", shape.text(), " does not broadcast with ", out.text()), at);
    }
  }
  return out;
}

FloatingInfo finfo(Dtype dtype, SourceLocation at) {
  const auto of = [](int64_t bits, int mantissa, int max_exponent, int min_exponent) {
    const double eps = std::ldexp(1.0, -mantissa), max = std::ldexp(2 - eps, max_exponent);
    return FloatingInfo{bits, eps, max, -max, std::ldexp(1.0, min_exponent)};
  };
  switch (dtype) {
    case Dtype::f64: return of(64, 52, 1023, -1022);
    case Dtype::f32: return of(32, 23, 127, -126);
    case Dtype::bf16: return of(16, 7, 127, -126);
    case Dtype::f16: return of(16, 10, 15, -14);
    default: throw UserError(text::cat("finfo: ", dtype, " is not a floating dtype"), at);
  }
}

IntegerInfo iinfo(Dtype dtype, SourceLocation at) {
  if (!is_integer(dtype)) throw UserError(text::cat("iinfo: ", dtype, " is not an integer dtype"), at);
  const int64_t bits = 8 * size_of(dtype);
  if (dtype == Dtype::u8) return {bits, 255, 0};
  const int64_t max = std::numeric_limits<int64_t>::max() >> (64 - bits);
  return {bits, max, -max - 1};
}

}  // namespace fulgurite
