#pragma once
#include <string>
#include <vector>

#include <fulgurite/dtype.h>

#include "codegen/ir/scalar_expr.h"
#include "support/containers/small_vector.h"

namespace fulgurite::codegen {

/// Stands for the GEMM's sums among the values of an epilogue.
constexpr int gemm_sums = -1;

/// A value of an epilogue: an operand's element, or computed from earlier values.
struct EpilogueValue {
  std::string name;              // as wanted; renderers keep names apart
  Lanes lanes = Lanes::floats;   // of the value
  int operand = -1;              // the operand whose element is operand 0 of the expression; -1: none
  ScalarExpr expression;         // over the element, or over `values`
  SmallVector<int, 4> values{};  // indices of earlier values, or gemm_sums

  friend bool operator==(const EpilogueValue&, const EpilogueValue&) = default;
};

/// The value that a result stores, rounded to its dtype.
struct EpilogueStore {
  ScalarExpr expression;
  SmallVector<int, 4> values;

  friend bool operator==(const EpilogueStore&, const EpilogueStore&) = default;
};

/// Elementwise operations on a GEMM's sums, once they are complete: what they read, their values, and what they store.
struct GemmEpilogue {
  struct Operand {
    Dtype dtype = Dtype::f32;
    bool is_row = false;  // one row for all; else it has the result's sizes

    friend bool operator==(const Operand&, const Operand&) = default;
  };
  std::vector<Dtype> results;
  std::vector<Operand> operands;
  std::string name;  // part of the function's: "add_f32_gelu"
  std::vector<EpilogueValue> values;
  std::vector<EpilogueStore> stores;  // by result

  friend bool operator==(const GemmEpilogue&, const GemmEpilogue&) = default;
};

}  // namespace fulgurite::codegen
