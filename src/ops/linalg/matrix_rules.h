#pragma once
#include <fulgurite/operators.h>

#include "ops/core/rules.h"

namespace fulgurite {

// Rules of operators on matrices and batches of them, [..., rows, columns].

/// Requires a batch of matrices whose elements are f32 or f64.
void require_matrices(const Tensor& x, std::string_view name = "A");
/// The same for square ones.
void require_square(const Tensor& x, std::string_view name = "A");
/// The sizes before those of the matrices.
Shape batch_shape(const Tensor& x);
/// A batch of matrices with these sizes.
Shape with_matrix(Shape batch, Int rows, Int columns);
/// Rows and columns exchanged.
Tensor transposed(const Tensor& x, SourceLocation at = {});
/// True on the diagonal: [size, size].
Tensor diagonal_mask(Int size, Device device, SourceLocation at = {});

}  // namespace fulgurite
