// Tensors from shapes and numbers.
#include <cmath>

#include <fulgurite/operators.h>

#include "ops/core/families.h"
#include "ops/elementwise/pointwise_rules.h"
#include "ops/generated/symbols.h"

namespace fulgurite {

namespace {

Dtype dtype_of_number(const Argument& number) {
  if (number.is_tensor()) return number.tensor().dtype();
  if (number.is_boolean()) return Dtype::boolean;
  return number.is_integer() ? Dtype::i64 : default_dtype();
}

// Checked here, so that a trace fails at the op that names the device.
Device device_or_default(const Argument& device) {
  if (device.is_none()) return {};
  require(device.device() == Device(), "this build has only the device cpu, not ", device.device().name());
  return device.device();
}

void require_sizes(const Shape& size) {
  for (const Int n : size) require(n >= 0, "a size is negative: ", size);
}

TensorOptions options_of(Dtype dtype, const Argument& device) {
  return {.dtype = dtype, .device = device_or_default(device)};
}

// Arguments (size, dtype, device).
void infer_sized(Arguments a, InferredTypes& types) {
  const Shape size = a[0].shape();
  require_sizes(size);
  types.push_back({size, a[1].is_none() ? default_dtype() : a[1].dtype(), device_or_default(a[2])});
}

// Arguments (input, dtype, device).
void infer_like(Arguments a, InferredTypes& types) {
  const Tensor& x = a[0].tensor();
  types.push_back(
      {x.shape(), a[1].is_none() ? x.dtype() : a[1].dtype(), a[2].is_none() ? x.device() : device_or_default(a[2])});
}

template <int value>
void decompose_sized(Arguments a, Results& results, SourceLocation at) {
  const Dtype dtype = a[1].is_none() ? default_dtype() : a[1].dtype();
  results.push_back(full(Dims(a[0].shape()), value, options_of(dtype, a[2]), at));
}

template <int value>
void decompose_like(Arguments a, Results& results, SourceLocation at) {
  const Tensor& x = a[0].tensor();
  const Dtype dtype = a[1].is_none() ? x.dtype() : a[1].dtype();
  const Device device = a[2].is_none() ? x.device() : a[2].device();
  results.push_back(full(Dims(x.shape()), value, {.dtype = dtype, .device = device}, at));
}

// The number of steps from start to before end.
Int count_of_steps(const Argument& start, const Argument& end, const Argument& step) {
  if (start.is_integer() && end.is_integer() && step.is_integer()) {
    const Int by = step.integer();
    require(by != 0, "step must not be zero");
    const Int distance = end.integer() - start.integer();
    const bool up = by > 0;
    require(up ? distance >= 0 : distance <= 0, "end lies on the other side of start than step goes");
    return up ? (distance + by - 1) / by : (distance + by + 1) / by;
  }
  const double by = step.floating(), from = start.floating(), to = end.floating();
  require(std::isfinite(from) && std::isfinite(to) && std::isfinite(by), "start, end and step must be finite, got ",
          from, ", ", to, " and ", by);
  require(by != 0, "step must not be zero");
  require(by > 0 ? to >= from : to <= from, "end lies on the other side of start than step goes");
  const double count = std::ceil((to - from) / by);
  require(count < 0x1p62, "from ", from, " to ", to, " in steps of ", by, " there are too many numbers");
  return static_cast<int64_t>(count);
}

void infer_arange(Arguments a, InferredTypes& types) {
  for (size_t i = 0; i < 3; ++i)
    require(a[i].is_number() || (i == 1 && a[i].is_none()), "start, end and step must be numbers");
  const Argument start = a[1].is_none() ? Argument(Int(0)) : a[0];
  const Argument end = a[1].is_none() ? a[0] : a[1];
  const bool floating = start.is_floating() || end.is_floating() || a[2].is_floating();
  const Dtype dtype = !a[3].is_none() ? a[3].dtype() : floating ? default_dtype() : Dtype::i64;
  types.push_back({Shape{count_of_steps(start, end, a[2])}, dtype, device_or_default(a[4])});
}

}  // namespace

constinit const Symbol full_symbol{
    .signature = "torch.full(int[] size, Operand fill_value, *, Dtype? dtype=None, Device? device=None) -> Tensor",
    .documentation = "A tensor whose elements are all fill_value.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          const Shape size = a[0].shape();
          require_sizes(size);
          require(a[1].is_number(), "fill_value must be a number; a tensor can be expanded");
          types.push_back({size, a[2].is_none() ? dtype_of_number(a[1]) : a[2].dtype(), device_or_default(a[3])});
          require_fits("fill_value", a[1], types[0].dtype);
        },
    .traits = {.not_differentiable = true},
    .semantics = {.fill = Fill::second_argument},
};

constinit const Symbol zeros_symbol{
    .signature = "torch.zeros(int[] size, *, Dtype? dtype=None, Device? device=None) -> Tensor",
    .documentation = "A tensor of zeros.",
    .infer = infer_sized,
    .decompose = decompose_sized<0>,
    .traits = {.not_differentiable = true},
    .semantics = {.fill = Fill::zero},
};

constinit const Symbol ones_symbol{
    .signature = "torch.ones(int[] size, *, Dtype? dtype=None, Device? device=None) -> Tensor",
    .documentation = "A tensor of ones.",
    .infer = infer_sized,
    .decompose = decompose_sized<1>,
    .traits = {.not_differentiable = true},
};

constinit const Symbol empty_symbol{
    .signature = "torch.empty(int[] size, *, Dtype? dtype=None, Device? device=None) -> Tensor",
    .documentation = "A tensor whose elements may be anything; here they are zeros, so that no result depends on them.",
    .infer = infer_sized,
    .decompose = decompose_sized<0>,
    .traits = {.not_differentiable = true},
};

constinit const Symbol full_like_symbol{
    .signature =
        "torch.full_like(Tensor input, Operand fill_value, *, Dtype? dtype=None, Device? device=None) -> Tensor",
    .documentation = "A tensor like input whose elements are all fill_value.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          require(a[1].is_number(), "fill_value must be a number; a tensor can be expanded");
          const Argument like[] = {a[0], a[2], a[3]};
          infer_like(like, types);
          require_fits("fill_value", a[1], types[0].dtype);
        },
    .decompose =
        [](Arguments a, Results& results, SourceLocation at) {
          const Tensor& x = a[0].tensor();
          const Dtype dtype = a[2].is_none() ? x.dtype() : a[2].dtype();
          const Device device = a[3].is_none() ? x.device() : a[3].device();
          results.push_back(full(Dims(x.shape()), a[1].operand(at), {.dtype = dtype, .device = device}, at));
        },
    .traits = {.not_differentiable = true},
    .semantics = {.fill = Fill::second_argument},
};

constinit const Symbol zeros_like_symbol{
    .signature = "torch.zeros_like(Tensor input, *, Dtype? dtype=None, Device? device=None) -> Tensor",
    .documentation = "Zeros in the shape and dtype of input.",
    .infer = infer_like,
    .decompose = decompose_like<0>,
    .traits = {.not_differentiable = true},
    .semantics = {.fill = Fill::zero},
};

constinit const Symbol ones_like_symbol{
    .signature = "torch.ones_like(Tensor input, *, Dtype? dtype=None, Device? device=None) -> Tensor",
    .documentation = "Ones in the shape and dtype of input.",
    .infer = infer_like,
    .decompose = decompose_like<1>,
    .traits = {.not_differentiable = true},
};

constinit const Symbol empty_like_symbol{
    .signature = "torch.empty_like(Tensor input, *, Dtype? dtype=None, Device? device=None) -> Tensor",
    .documentation = "A tensor like input whose elements may be anything; here they are zeros.",
    .infer = infer_like,
    .decompose = decompose_like<0>,
    .traits = {.not_differentiable = true},
};

constinit const Symbol arange_symbol{
    .signature =
        "torch.arange(Operand start, Operand? end=None, Operand step=1, *, Dtype? dtype=None, Device? device=None) "
        "-> Tensor",
    .documentation = "The numbers from start to before end, step apart; with one number, from zero to before it.",
    .infer = infer_arange,
    .traits = {.not_differentiable = true},
};

constinit const Symbol linspace_symbol{
    .signature =
        "torch.linspace(Operand start, Operand end, int steps, *, Dtype? dtype=None, Device? device=None) -> Tensor",
    .documentation = "steps numbers at equal distances from start to end, both included.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          require(a[0].is_number() && a[1].is_number(), "start and end must be numbers");
          const Shape size{a[2].integer()};
          require_sizes(size);
          types.push_back({size, a[3].is_none() ? default_dtype() : a[3].dtype(), device_or_default(a[4])});
          require_fits("start", a[0], types[0].dtype);
          require_fits("end", a[1], types[0].dtype);
        },
    .traits = {.not_differentiable = true},
};

constinit const Symbol eye_symbol{
    .signature = "torch.eye(int n, int? m=None, *, Dtype? dtype=None, Device? device=None) -> Tensor",
    .documentation = "A matrix of n rows and m columns with ones on the diagonal.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          const Shape size{a[0].integer(), a[1].is_none() ? a[0].integer() : a[1].integer()};
          require_sizes(size);
          types.push_back({size, a[2].is_none() ? default_dtype() : a[2].dtype(), device_or_default(a[3])});
        },
    .decompose =
        [](Arguments a, Results& results, SourceLocation at) {
          const Int rows = a[0].integer(), columns = a[1].is_none() ? rows : a[1].integer();
          const Dtype dtype = a[2].is_none() ? default_dtype() : a[2].dtype();
          const auto is_none = [](Int n) { return !n.is_symbolic() && n.hint() == 0; };
          // Empty, whatever the other size.
          if (is_none(rows) || is_none(columns))
            return results.push_back(zeros({rows, columns}, options_of(dtype, a[3]), at));
          const TensorOptions options = options_of(Dtype::i64, a[3]);
          const Tensor row = arange(rows, {}, 1, options, at);
          const Tensor row_of = reshape(row, {rows, 1}, at);
          const Tensor column_of = arange(columns, {}, 1, options, at);
          const Tensor diagonal = eq(row_of, column_of, at);
          results.push_back(prims::convert_element_type(diagonal, dtype, at));
        },
    .traits = {.not_differentiable = true},
};

SymbolList creation_symbols() {
  static constexpr const Symbol* list[] = {
      &full_symbol,      &zeros_symbol,      &ones_symbol,   &empty_symbol,    &full_like_symbol, &zeros_like_symbol,
      &ones_like_symbol, &empty_like_symbol, &arange_symbol, &linspace_symbol, &eye_symbol,
  };
  return list;
}

}  // namespace fulgurite
