#pragma once
#include <fulgurite/detail/requirements.h>

// Parts that models with an encoder and a decoder share.
#include <vector>

#include <fulgurite/operators.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace models {

/// Keys and values of an encoded source by decoder layer: [batch, heads, length, head_width] each.
struct SourceCache {
  std::vector<Tensor> keys, values;
  Tensor mask;  // bool [batch, 1, 1, length], true for tokens and false for padding; undefined: all are tokens
};

/// Numbers beyond f16's become its largest ones, which transformers does in f16 too.
inline Tensor within_f16(const Tensor& x) { return x.dtype() == Dtype::f16 ? clamp(x, -64504.0, 64504.0) : x; }

}  // namespace models
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
