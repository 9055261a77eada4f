// Random tensors. A draw is a pure function of an RNG state taken from the generator in program order; element i of a
// draw uses Philox4x32-10 with the state's seed as key and the state's offset plus i as counter.
#include <fulgurite/operators.h>

#include "ops/core/families.h"
#include "ops/elementwise/pointwise_rules.h"
#include "ops/generated/symbols.h"
#include "ops/random/random_python.h"
#include "tensor/number_range.h"

namespace fulgurite {

namespace {

Dtype floating_dtype(const Argument& dtype, Dtype otherwise) {
  const Dtype chosen = dtype.is_none() ? otherwise : dtype.dtype();
  require(is_floating(chosen), "the dtype must be floating, not ", chosen);
  return chosen;
}

// Arguments (size, dtype, device).
void infer_random(Arguments a, InferredTypes& types) {
  const Device device = a[2].is_none() ? Device() : a[2].device();
  types.push_back({a[0].shape(), floating_dtype(a[1], default_dtype()), device});
}

void infer_random_like(Arguments a, InferredTypes& types) {
  const Tensor& x = a[0].tensor();
  types.push_back({x.shape(), floating_dtype(a[1], x.dtype()), a[2].is_none() ? x.device() : a[2].device()});
}

// Arguments (state, size, first number, second number, dtype).
void infer_draw(Arguments a, InferredTypes& types) {
  const Tensor& state = a[0].tensor();
  require(state.dtype() == Dtype::i64 && state.ndim() == 1 && state.size(0) == 2,
          "state must be an i64 tensor of [seed, offset]");
  types.push_back({a[1].shape(), a[4].dtype(), state.device()});
}

void infer_floating_draw(Arguments a, InferredTypes& types) {
  infer_draw(a, types);
  require(is_floating(a[4].dtype()), "the dtype must be floating, not ", a[4].dtype());
}

// Numbers are compared without a guard: the rule runs again before a program runs with others.
void infer_uniform(Arguments a, InferredTypes& types) {
  infer_floating_draw(a, types);
  const double low = a[2].floating().hint(), high = a[3].floating().hint(), most = largest_number(a[4].dtype());
  require(low <= high, "low must not be above high: ", low, " and ", high);
  require(low >= -most && high <= most && high - low <= most, "the range from ", low, " to ", high,
          " does not fit into ", a[4].dtype());
}

void infer_normal(Arguments a, InferredTypes& types) {
  infer_floating_draw(a, types);
  require(a[3].floating().hint() >= 0, "std must not be negative: ", a[3].floating().hint());
}

void require_integer_range(Int low, Int high, Dtype dtype) {
  require(low < high, "low must be below high");
  const auto least = static_cast<double>(low.hint()), most = static_cast<double>(high.hint() - 1);
  const bool fits = is_floating(dtype) ? least >= smallest_number(dtype) && most <= largest_number(dtype)
                                       : !overflows(least, dtype) && (dtype == Dtype::i64 || !overflows(most, dtype));
  require(fits, "the range from ", low.hint(), " to below ", high.hint(), " does not fit into ", dtype);
}

void infer_dropout(Arguments a, InferredTypes& types) {
  const Float p = a[1].floating();
  require(p >= 0 && p <= 1, "p must be from 0 to 1, not ", p.hint());
  require(!a[3].boolean(), "inplace=True is not supported; assign the result");
  infer_same(a, types);
}

Tensor draw_uniform(const Shape& size, Dtype dtype, SourceLocation at) {
  const Tensor state = prims::random_state(size.numel(), at);
  return prims::uniform(state, size, 0.0, 1.0, dtype, at);
}

Tensor draw_normal(const Shape& size, Dtype dtype, SourceLocation at) {
  const Tensor state = prims::random_state(size.numel(), at);
  return prims::normal(state, size, 0.0, 1.0, dtype, at);
}

}  // namespace

constinit const Symbol prims_random_state_symbol{
    .signature = "prims.random_state(int increment) -> Tensor",
    .documentation = "The generator's [seed, offset]; the generator's offset advances by increment.",
    .infer =
        [](Arguments, InferredTypes& types) {
          types.push_back({Shape{2}, Dtype::i64, Device()});
        },
    .python = "random_state({0})",
    .python_definition = random_python,
    .traits = {.effects = Effect::random, .not_differentiable = true},
};

constinit const Symbol prims_uniform_symbol{
    .signature = "prims.uniform(Tensor state, int[] size, float low, float high, Dtype dtype) -> Tensor",
    .documentation = "Numbers evenly distributed from low to below high, drawn from a state.",
    .infer = infer_uniform,
    .python = "random_uniform({0}, {1}, {2}, {3}, {4})",
    .python_definition = random_python,
    .traits = {.not_differentiable = true},
};

constinit const Symbol prims_normal_symbol{
    .signature = "prims.normal(Tensor state, int[] size, float mean, float std, Dtype dtype) -> Tensor",
    .documentation = "Normally distributed numbers, drawn from a state.",
    .infer = infer_normal,
    .python = "random_normal({0}, {1}, {2}, {3}, {4})",
    .python_definition = random_python,
    .traits = {.not_differentiable = true},
};

constinit const Symbol prims_random_integers_symbol{
    .signature = "prims.random_integers(Tensor state, int[] size, int low, int high, Dtype dtype) -> Tensor",
    .documentation = "Integers evenly distributed from low to below high, drawn from a state.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          infer_draw(a, types);
          require_integer_range(a[2].integer(), a[3].integer(), a[4].dtype());
        },
    .python = "random_integers({0}, {1}, {2}, {3}, {4})",
    .python_definition = random_python,
    .traits = {.not_differentiable = true},
};

constinit const Symbol rand_symbol{
    .signature = "torch.rand(int[] size, *, Dtype? dtype=None, Device? device=None) -> Tensor",
    .documentation = "Random numbers evenly distributed from 0 to below 1.",
    .infer = infer_random,
    .decompose =
        [](Arguments a, Results& results, SourceLocation at) {
          results.push_back(draw_uniform(a[0].shape(), floating_dtype(a[1], default_dtype()), at));
        },
    .python = "random_uniform(random_state(random_count({0})), {0}, 0.0, 1.0, {1})",
    .python_definition = random_python,
    .traits = {.effects = Effect::random, .not_differentiable = true},
};

constinit const Symbol randn_symbol{
    .signature = "torch.randn(int[] size, *, Dtype? dtype=None, Device? device=None) -> Tensor",
    .documentation = "Random numbers of the normal distribution with mean 0 and variance 1.",
    .infer = infer_random,
    .decompose =
        [](Arguments a, Results& results, SourceLocation at) {
          results.push_back(draw_normal(a[0].shape(), floating_dtype(a[1], default_dtype()), at));
        },
    .python = "random_normal(random_state(random_count({0})), {0}, 0.0, 1.0, {1})",
    .python_definition = random_python,
    .traits = {.effects = Effect::random, .not_differentiable = true},
};

constinit const Symbol rand_like_symbol{
    .signature = "torch.rand_like(Tensor input, *, Dtype? dtype=None, Device? device=None) -> Tensor",
    .documentation = "Random numbers from 0 to below 1 in the shape and dtype of input.",
    .infer = infer_random_like,
    .decompose =
        [](Arguments a, Results& results, SourceLocation at) {
          results.push_back(draw_uniform(a[0].tensor().shape(), floating_dtype(a[1], a[0].tensor().dtype()), at));
        },
    .python = "random_uniform(random_state({0}.numel()), {0}.shape, 0.0, 1.0, {1} or {0}.dtype)",
    .python_definition = random_python,
    .traits = {.effects = Effect::random, .not_differentiable = true},
};

constinit const Symbol randn_like_symbol{
    .signature = "torch.randn_like(Tensor input, *, Dtype? dtype=None, Device? device=None) -> Tensor",
    .documentation = "Random numbers of the normal distribution in the shape and dtype of input.",
    .infer = infer_random_like,
    .decompose =
        [](Arguments a, Results& results, SourceLocation at) {
          results.push_back(draw_normal(a[0].tensor().shape(), floating_dtype(a[1], a[0].tensor().dtype()), at));
        },
    .python = "random_normal(random_state({0}.numel()), {0}.shape, 0.0, 1.0, {1} or {0}.dtype)",
    .python_definition = random_python,
    .traits = {.effects = Effect::random, .not_differentiable = true},
};

constinit const Symbol randint_symbol{
    .signature = "torch.randint(int low, int high, int[] size, *, Dtype? dtype=None, Device? device=None) -> Tensor",
    .documentation = "Random integers evenly distributed from low to below high.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          const Device device = a[4].is_none() ? Device() : a[4].device();
          const Dtype dtype = a[3].is_none() ? Dtype::i64 : a[3].dtype();
          require_integer_range(a[0].integer(), a[1].integer(), dtype);
          types.push_back({a[2].shape(), dtype, device});
        },
    .decompose =
        [](Arguments a, Results& results, SourceLocation at) {
          const Shape size = a[2].shape();
          const Tensor state = prims::random_state(size.numel(), at);
          const Dtype dtype = a[3].is_none() ? Dtype::i64 : a[3].dtype();
          results.push_back(prims::random_integers(state, size, a[0].integer(), a[1].integer(), dtype, at));
        },
    .python = "random_integers(random_state(random_count({2})), {2}, {0}, {1}, {3} or torch.int64)",
    .python_definition = random_python,
    .traits = {.effects = Effect::random, .not_differentiable = true},
};

constinit const Symbol dropout_symbol{
    .signature =
        "torch.nn.functional.dropout(Tensor input, float p=0.5, bool training=True, bool inplace=False) -> Tensor",
    .documentation = "In training, elements set to zero with probability p and the others divided by 1 - p.",
    .infer = infer_dropout,
    .decompose =
        [](Arguments a, Results& results, SourceLocation at) {
          check(infer_dropout, a);
          const Tensor& x = a[0].tensor();
          const Float p = a[1].floating();
          if (!a[2].boolean() || p == 0) return results.push_back(x);
          if (p == 1) return results.push_back(mul(x, 0, at));
          const Tensor drawn = draw_uniform(x.shape(), Dtype::f32, at);
          const Tensor kept = ge(drawn, p, at);
          const Tensor mask = prims::convert_element_type(kept, x.dtype(), at);
          const Tensor masked = mul(x, mask, at);
          results.push_back(mul(masked, 1 / (1 - p), at));
        },
    .python = "random_dropout({0}, {1}, {2})",
    .python_definition = random_python,
    .traits = {.effects = Effect::random},
};

SymbolList random_symbols() {
  static constexpr const Symbol* list[] = {
      &prims_random_state_symbol,
      &prims_uniform_symbol,
      &prims_normal_symbol,
      &prims_random_integers_symbol,
      &rand_symbol,
      &randn_symbol,
      &rand_like_symbol,
      &randn_like_symbol,
      &randint_symbol,
      &dropout_symbol,
  };
  return list;
}

}  // namespace fulgurite
