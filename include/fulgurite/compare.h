#pragma once
#include <fulgurite/detail/requirements.h>

#include <fulgurite/number.h>
#include <fulgurite/source_location.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

/// Returns true if two tensors have the same shape and equal elements; NaN equals nothing. Data-dependent: causes a
/// graph break while tracing, as `if (tensor)` does. (torch.equal)
bool equal(const Tensor& input, const Tensor& other, SourceLocation at = SourceLocation::here());

/// Returns true if all elements of two tensors of one dtype are equal or differ by at most atol + rtol * |other|;
/// shapes broadcast. Data-dependent: causes a graph break while tracing. (torch.allclose)
bool allclose(const Tensor& input, const Tensor& other, Float rtol = 1e-05, Float atol = 1e-08, bool equal_nan = false,
              SourceLocation at = SourceLocation::here());

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
