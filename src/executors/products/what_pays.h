#pragma once
#include <fulgurite/trace.h>

namespace fulgurite::products {

/// Whether generated products can run on this CPU and nothing is known to be faster: a CPU with matrix tiles (AMX) multiplies bf16 several times
/// as fast through oneDNN.
bool pays_on_this_cpu();

/// Whether the generated kernel takes a line: a product of a stack of bf16 rows with one bf16 matrix, of sizes for which it was measured to be
/// faster than oneDNN, where it pays on this CPU. A function of the line alone.
bool takes_product(const BoundSymbol&);
bool has_product(const Trace&);

}  // namespace fulgurite::products
