// Initial values of parameters.
#include <fulgurite/init.h>

#include <cmath>

#include <fulgurite/autograd.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>
#include <fulgurite/random.h>

#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::nn::init {

namespace {

struct Fans {
  double in, out;
};

void check_dims(const Tensor& tensor, int64_t least, int64_t most, const char* what, SourceLocation at) {
  if (!tensor.defined()) throw UserError(text::cat(what, ": the tensor is undefined"), at);
  if (tensor.ndim() < least || tensor.ndim() > most)
    throw UserError(text::cat(what, ": the tensor must have ", most == INT64_MAX ? "at least " : "", least,
                              most != INT64_MAX && most != least ? text::cat(" to ", most) : std::string(),
                              " dimensions, not ", type_text(tensor)),
                    at);
}

Fans fans_of(const Tensor& tensor, const char* what, SourceLocation at) {
  check_dims(tensor, 2, INT64_MAX, what, at);
  double window = 1;
  for (int64_t d = 2; d < tensor.ndim(); ++d)
    window *= static_cast<double>(static_cast<int64_t>(tensor.size(static_cast<int>(d))));
  return {static_cast<double>(static_cast<int64_t>(tensor.size(1))) * window,
          static_cast<double>(static_cast<int64_t>(tensor.size(0))) * window};
}

double kaiming_std(const Tensor& tensor, double a, std::string_view mode, std::string_view nonlinearity,
                   const char* what, SourceLocation at) {
  const Fans fans = fans_of(tensor, what, at);
  if (mode != "fan_in" && mode != "fan_out")
    throw UserError(text::cat(what, ": mode must be \"fan_in\" or \"fan_out\", not \"", mode, "\""), at);
  return calculate_gain(nonlinearity, a, at) / std::sqrt(mode == "fan_in" ? fans.in : fans.out);
}

double xavier_std(const Tensor& tensor, double gain, const char* what, SourceLocation at) {
  const Fans fans = fans_of(tensor, what, at);
  return gain * std::sqrt(2 / (fans.in + fans.out));
}

/// The columns of a tall row-major matrix made orthonormal: Gram and Schmidt's method, twice for accuracy.
void make_orthonormal(std::vector<double>& matrix, size_t rows, size_t columns) {
  const auto at = [&](size_t i, size_t j) -> double& { return matrix[i * columns + j]; };
  for (size_t j = 0; j < columns; ++j) {
    for (int pass = 0; pass < 2; ++pass)
      for (size_t k = 0; k < j; ++k) {
        double product = 0;
        for (size_t i = 0; i < rows; ++i) product += at(i, j) * at(i, k);
        for (size_t i = 0; i < rows; ++i) at(i, j) -= product * at(i, k);
      }
    double square = 0;
    for (size_t i = 0; i < rows; ++i) square += at(i, j) * at(i, j);
    const double length = std::sqrt(square);
    for (size_t i = 0; i < rows; ++i) at(i, j) /= length;
  }
}

}  // namespace

double calculate_gain(std::string_view nonlinearity, double parameter, SourceLocation at) {
  if (nonlinearity == "tanh") return 5.0 / 3;
  if (nonlinearity == "relu") return std::sqrt(2.0);
  if (nonlinearity == "leaky_relu") return std::sqrt(2 / (1 + parameter * parameter));
  if (nonlinearity == "selu") return 0.75;
  for (const std::string_view linear :
       {"linear", "sigmoid", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"})
    if (nonlinearity == linear) return 1;
  throw UserError(text::cat("calculate_gain: unknown nonlinearity \"", nonlinearity, "\""), at);
}

Tensor uniform_(const Tensor& tensor, double a, double b, const MaybeGenerator& generator, SourceLocation at) {
  const NoGrad no_grad;
  return fulgurite::uniform_(tensor, a, b, generator, at);
}
Tensor normal_(const Tensor& tensor, double mean, double std, const MaybeGenerator& generator, SourceLocation at) {
  const NoGrad no_grad;
  return fulgurite::normal_(tensor, mean, std, generator, at);
}

Tensor trunc_normal_(const Tensor& tensor, double mean, double std, double a, double b, const MaybeGenerator& generator,
                     SourceLocation at) {
  const NoGrad no_grad;
  check_dims(tensor, 0, INT64_MAX, "trunc_normal_", at);
  if (!(std > 0) || !(a < b)) throw UserError("trunc_normal_: std must be positive and a below b", at);
  const auto below = [](double x) { return std::erf(x / std::sqrt(2.0)); };
  const double low = below((a - mean) / std), high = below((b - mean) / std);
  const Tensor drawn = empty(Dims(tensor.shape()), {.dtype = Dtype::f64}, at);
  fulgurite::uniform_(drawn, low, high, generator, at);
  const Tensor standard = erfinv(drawn, at), scaled = mul(standard, std * std::sqrt(2.0), at);
  return copy_(tensor, clamp(add(scaled, mean, 1, at), a, b, at), at);
}

Tensor constant_(const Tensor& tensor, double value, SourceLocation at) {
  const NoGrad no_grad;
  return fill_(tensor, value, at);
}
Tensor ones_(const Tensor& tensor, SourceLocation at) { return constant_(tensor, 1, at); }
Tensor zeros_(const Tensor& tensor, SourceLocation at) { return constant_(tensor, 0, at); }

Tensor eye_(const Tensor& tensor, SourceLocation at) {
  const NoGrad no_grad;
  check_dims(tensor, 2, 2, "eye_", at);
  return copy_(tensor, eye(tensor.size(0), tensor.size(1), {.dtype = tensor.dtype()}, at), at);
}

Tensor dirac_(const Tensor& tensor, int64_t groups, SourceLocation at) {
  const NoGrad no_grad;
  check_dims(tensor, 3, 5, "dirac_", at);
  if (groups < 1 || tensor.size(0) % groups != 0)
    throw UserError(text::cat("dirac_: ", tensor.size(0), " channels are not a multiple of groups = ", groups), at);
  zero_(tensor, at);
  const int64_t rows = static_cast<int64_t>(tensor.size(0)) / groups,
                channels = std::min<int64_t>(rows, tensor.size(1));
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t d = 0; d < channels; ++d) {
      Tensor element = select(select(tensor, 0, g * rows + d, at), 0, d, at);
      while (element.ndim() > 0) element = select(element, 0, static_cast<int64_t>(element.size(0)) / 2, at);
      fill_(element, 1, at);
    }
  return tensor;
}

Tensor xavier_uniform_(const Tensor& tensor, double gain, const MaybeGenerator& generator, SourceLocation at) {
  const double bound = std::sqrt(3.0) * xavier_std(tensor, gain, "xavier_uniform_", at);
  return init::uniform_(tensor, -bound, bound, generator, at);
}
Tensor xavier_normal_(const Tensor& tensor, double gain, const MaybeGenerator& generator, SourceLocation at) {
  return init::normal_(tensor, 0, xavier_std(tensor, gain, "xavier_normal_", at), generator, at);
}
Tensor kaiming_uniform_(const Tensor& tensor, double a, std::string_view mode, std::string_view nonlinearity,
                        const MaybeGenerator& generator, SourceLocation at) {
  const double bound = std::sqrt(3.0) * kaiming_std(tensor, a, mode, nonlinearity, "kaiming_uniform_", at);
  return init::uniform_(tensor, -bound, bound, generator, at);
}
Tensor kaiming_normal_(const Tensor& tensor, double a, std::string_view mode, std::string_view nonlinearity,
                       const MaybeGenerator& generator, SourceLocation at) {
  return init::normal_(tensor, 0, kaiming_std(tensor, a, mode, nonlinearity, "kaiming_normal_", at), generator, at);
}

Tensor orthogonal_(const Tensor& tensor, double gain, const MaybeGenerator& generator, SourceLocation at) {
  const NoGrad no_grad;
  check_dims(tensor, 2, INT64_MAX, "orthogonal_", at);
  if (tensor.numel() == 0) return tensor;
  const int64_t rows = tensor.size(0), columns = static_cast<int64_t>(tensor.numel()) / rows;
  const int64_t longer = std::max(rows, columns), shorter = std::min(rows, columns);
  const Tensor drawn = normal(0, 1, {longer, shorter}, {.dtype = Dtype::f64, .generator = generator}, at);
  std::vector<double> elements = drawn.to_vector<double>(at);
  make_orthonormal(elements, static_cast<size_t>(longer), static_cast<size_t>(shorter));
  Tensor matrix = reshape(fulgurite::tensor(elements, {}, at), {longer, shorter}, at);
  if (rows < columns) matrix = transpose(matrix, 0, 1, at);
  return copy_(tensor, mul(reshape(matrix, Dims(tensor.shape()), at), gain, at), at);
}

Tensor sparse_(const Tensor& tensor, double sparsity, double std, const MaybeGenerator& generator, SourceLocation at) {
  const NoGrad no_grad;
  check_dims(tensor, 2, 2, "sparse_", at);
  if (!(sparsity >= 0 && sparsity <= 1))
    throw UserError(text::cat("sparse_: sparsity must be from 0 to 1, not ", sparsity), at);
  const auto zeros =
      static_cast<int64_t>(std::ceil(sparsity * static_cast<double>(static_cast<int64_t>(tensor.size(0)))));
  init::normal_(tensor, 0, std, generator, at);
  for (int64_t column = 0; column < tensor.size(1); ++column) {
    const Tensor rows = narrow(randperm(tensor.size(0), {.generator = generator}, at), 0, 0, zeros, at);
    index_fill_(select(tensor, 1, column, at), 0, rows, 0.0, at);
  }
  return tensor;
}

}  // namespace fulgurite::nn::init
