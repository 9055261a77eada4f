#pragma once
#include <span>
#include <string>
#include <vector>

#include "codegen/product_kernel.h"
#include "executors/executor.h"

namespace fulgurite::products {

/// A product of a trace: which operator, of what.
struct Product {
  codegen::ProductForm form;
  bool is_linear = false;  // the right operand is [columns, depth], else [depth, columns]

  friend bool operator==(const Product&, const Product&) = default;
};

/// How they are run, on left and right operands and the bias, if there is one; empty where the kernels cannot be compiled. Valid for ever.
/// Thread-safe.
std::vector<const Implementation*> product_implementations(std::span<const Product>);

}  // namespace fulgurite::products
