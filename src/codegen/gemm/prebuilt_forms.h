#pragma once
#include <string>
#include <vector>

#include "codegen/gemm/gemm_form.h"

namespace fulgurite::codegen {

/// The functions of common GEMMs, which are compiled with the library so that a first call does not wait for the
/// compiler. A function is identified by its number: those that pack come first.
struct PrebuiltForms {
  std::vector<GemmForm> packing;      // their right operands and numbers
  std::vector<GemmForm> multiplying;  // their left operands, numbers and epilogues

  PrebuiltForms();
  /// The number of the function with which the form packs its right operand; -1: it is not prebuilt.
  int packing_number(const GemmForm&) const;
  /// The number of the function that computes the form; -1: it is not prebuilt. Names in epilogues do not matter.
  int multiplying_number(const GemmForm&) const;
  /// The functions as C++: src/codegen/prebuilt_gemm/prebuilt_gemm.cpp.
  std::string source() const;
};

}  // namespace fulgurite::codegen
