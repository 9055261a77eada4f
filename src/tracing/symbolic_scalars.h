#pragma once
#include <cstdint>
#include <string>

#include "ops/core/interpreter.h"
#include "tracing/trace_builder.h"

namespace fulgurite {

/// The symbolic scalars of a recording: its arguments, sizes of tensors, and what is computed from them.
///
/// Invariant: they belong to the outermost recording. Functions that are differentiated inside it use its symbols, so
/// that operations are forwarded to the interpreter outside, and both recordings number their values together.
class SymbolicScalars {
 public:
  /// `outer`: the interpreter outside; `outer_recorder`: the recording outside, null if there is none.
  SymbolicScalars(TraceBuilder& builder, Interpreter* outer, Recorder* outer_recorder)
      : builder_(builder), outer_(outer), outer_recorder_(outer_recorder) {}

  /// Continues the numbering of the recording outside, whose symbols may occur here.
  void share_with_outer();

  /// A size or scalar argument that is a symbol.
  Int add_integer(int64_t hint, std::string name);
  Float add_float(double hint, std::string name);
  /// The same for one that a call passes as its `input`-th number (NumberProxy::input).
  Int add_integer(int64_t hint, std::string name, int input);
  Float add_float(double hint, std::string name, int input);
  /// A size that a call passes; bind_sizes() of the tensor that has it records its origin.
  Int add_size(int64_t hint, int input);
  /// Records that the symbols among a tensor's sizes are read off it: (i0, i1) = prims.shape(t_0)
  void bind_sizes(const Shape&, Value tensor);

  // The operations of an interpreter; see Interpreter::integer.
  Int integer(detail::NumberOperation, Int, Int);
  Float floating(detail::NumberOperation, Float, Float);
  Bool comparison(detail::NumberOperation, Int, Int);
  Bool comparison(detail::NumberOperation, Float, Float);
  static void fix(const NumberProxy&);

 private:
  Trace& trace() { return builder_.trace(); }
  detail::Ref<NumberProxy> make_number(NumberProxy::Kind, int64_t integer, double floating, std::string name);
  template <class T>
  void define(detail::NumberOperation, NumberProxy&, T a, T b, Value output);
  template <class T>
  Bool record_comparison(detail::NumberOperation, T a, T b);
  /// Records an operation by the interpreter outside.
  template <class Record>
  auto record_outside(Record&&);

  TraceBuilder& builder_;
  Interpreter* outer_;
  Recorder* outer_recorder_;
};

}  // namespace fulgurite
