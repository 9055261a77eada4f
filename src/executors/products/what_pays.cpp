#include "executors/products/what_pays.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>

#include <fulgurite/symbol.h>

#include "codegen/product_kernel.h"
#include "ops/symbols.h"

namespace fulgurite::products {

namespace {

// Measured with benchmarks/products.cpp: with fewer rows the right operand's packing is too much of the work, and with a short depth or few
// columns what is done for each tile.
bool pays(int64_t rows, int64_t columns, int64_t depth) { return rows >= 1024 && columns >= 128 && depth >= 256; }

bool has_matrix_tiles() {
#if defined(__x86_64__)
  constexpr unsigned bf16_tiles = 1U << 22, tiles = 1U << 24;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & bf16_tiles) != 0 && (d & tiles) != 0;
#else
  return false;
#endif
}

}  // namespace

bool pays_on_this_cpu() {
  static const bool pays_here = codegen::has_product_instructions() && !has_matrix_tiles();
  return pays_here;
}

bool takes_product(const BoundSymbol& bound) {
  const bool is_linear = bound.symbol == &linear_symbol;
  if (!is_linear && bound.symbol != &matmul_symbol) return false;
  if (bound.outputs.at(0).tensor().dtype != Dtype::bf16 || !pays_on_this_cpu()) return false;
  const Shape &left = bound.args.at(0).tensor().shape, &right = bound.args.at(1).tensor().shape;
  if (left.size() < 2 || right.size() != 2) return false;
  if (is_linear && bound.args.size() > 2 && bound.args.at(2).is_tensor() && bound.args.at(2).tensor().shape.size() != 1) return false;
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < left.size(); ++d) rows *= left[d].hint();
  return pays(rows, right[is_linear ? 0 : 1].hint(), left.back().hint());
}

bool has_product(const Trace& trace) { return std::ranges::any_of(trace.bound_symbols, takes_product); }

}  // namespace fulgurite::products
