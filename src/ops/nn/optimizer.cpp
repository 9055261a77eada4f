// Optimizer steps.
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/core/families.h"
#include "ops/core/precision.h"
#include "ops/generated/symbols.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {

constinit const Symbol prims_adamw_symbol{
    .signature =
        "prims.adamw(Tensor parameter, Tensor gradient, Tensor first_moment, Tensor second_moment, Tensor step, "
        "Tensor learning_rate, float beta1, float beta2, float eps, float weight_decay) -> (Tensor, Tensor, Tensor)",
    .documentation = "One AdamW step: the new parameter and moments. `step` counts from 1.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          const Shape shape = a[0].tensor().shape();
          for (size_t i = 1; i < 4; ++i)
            require(a[i].tensor().shape() == shape, "shapes differ: ", shape, " and ", a[i].tensor().shape());
          for (size_t i = 0; i < 6; ++i)
            require(is_floating(a[i].tensor().dtype()), "needs floating tensors, got ", a[i].tensor().dtype());
          require(a[4].tensor().ndim() == 0 && a[5].tensor().ndim() == 0, "step and learning_rate have no dimensions");
          out.push_back(like(a[0].tensor(), shape));
          out.push_back(like(a[2].tensor(), shape));
          out.push_back(like(a[3].tensor(), shape));
        },
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor &parameter = a[0].tensor(), &first = a[2].tensor(), &second = a[3].tensor();
          const Float beta1 = a[6].floating(), beta2 = a[7].floating(), eps = a[8].floating(),
                      weight_decay = a[9].floating();
          const Dtype dtype = compute_dtype(parameter.dtype());
          const Tensor step = as_dtype(a[4].tensor(), dtype, at);
          const Tensor learning_rate = as_dtype(a[5].tensor(), dtype, at);
          const Tensor gradient = as_dtype(a[1].tensor(), dtype, at);
          const Tensor value = as_dtype(parameter, dtype, at);
          const Tensor m = as_dtype(first, dtype, at);
          const Tensor v = as_dtype(second, dtype, at);

          const Tensor decay = mul(learning_rate, weight_decay, at);
          const Tensor keep = sub(1.0, decay, 1, at);
          const Tensor decayed = mul(value, keep, at);
          const Tensor difference = sub(gradient, m, 1, at);
          const Tensor change = mul(difference, 1.0 - beta1, at);
          const Tensor new_m = add(m, change, 1, at);
          const Tensor old_v = mul(v, beta2, at);
          const Tensor square = mul(gradient, gradient, at);
          const Tensor added = mul(square, 1.0 - beta2, at);
          const Tensor new_v = add(old_v, added, 1, at);

          const Tensor power1 = pow(beta1, step, at);
          const Tensor correction1 = sub(1.0, power1, 1, at);
          const Tensor power2 = pow(beta2, step, at);
          const Tensor correction2 = sub(1.0, power2, 1, at);
          const Tensor step_size = div(learning_rate, correction1, {}, at);
          const Tensor root_correction = sqrt(correction2, at);
          const Tensor root = sqrt(new_v, at);
          const Tensor corrected = div(root, root_correction, {}, at);
          const Tensor denominator = add(corrected, eps, 1, at);
          const Tensor direction = div(new_m, denominator, {}, at);
          const Tensor update = mul(direction, step_size, at);
          const Tensor new_value = sub(decayed, update, 1, at);
          out.push_back(as_dtype(new_value, parameter.dtype(), at));
          out.push_back(as_dtype(new_m, first.dtype(), at));
          out.push_back(as_dtype(new_v, second.dtype(), at));
        },
    .python = "adamw({0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9})",
    .python_definition =
        "def adamw(parameter, gradient, m, v, step, lr, beta1, beta2, eps, weight_decay):\n"
        "  dtype = torch.float32 if parameter.dtype in (torch.bfloat16, torch.float16) else parameter.dtype\n"
        "  p, g, m1, v1, step, lr = (x.to(dtype) for x in (parameter, gradient, m, v, step, lr))\n"
        "  p = p * (1 - lr * weight_decay)\n"
        "  m1 = m1 + (g - m1) * (1 - beta1)\n"
        "  v1 = v1 * beta2 + g * g * (1 - beta2)\n"
        "  denominator = torch.sqrt(v1) / torch.sqrt(1 - beta2**step) + eps\n"
        "  p = p - m1 / denominator * (lr / (1 - beta1**step))\n"
        "  return p.to(parameter.dtype), m1.to(m.dtype), v1.to(v.dtype)\n",
    .traits = {.not_differentiable = true},
    .semantics = {.elementwise_update = true},
};

std::span<const Symbol* const> optimizer_symbols() {
  static constexpr const Symbol* all[] = {&prims_adamw_symbol};
  return all;
}

}  // namespace fulgurite
