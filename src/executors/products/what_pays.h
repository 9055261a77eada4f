#pragma once
#include <fulgurite/trace.h>

namespace fulgurite::products {

/// Whether the generated kernel takes a line: a product of a stack of bf16 rows with one bf16 matrix, of sizes for which it was measured to be
/// faster than oneDNN, on a CPU that has the instructions. A function of the line alone.
bool takes_product(const BoundSymbol&);
bool has_product(const Trace&);

}  // namespace fulgurite::products
