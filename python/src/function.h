#pragma once
#include "arguments.h"

namespace fulgurite_python {

/// A compiled function over flat lists of values.
class Function {
 public:
  Function(fg::ValueFunction function, fg::JitOptions options, SourceLocation at);
  explicit Function(fg::JittedValues f) : f_(std::move(f)) {}

  const fg::JittedValues& jitted() const { return f_; }

  /// The results, as values of the library.
  nb::tuple call(nb::handle arguments, nb::handle members, nb::handle at) const;
  /// The results of a call without gradients, as objects of the peer.
  nb::list run(const Arguments& given) const;
  /// (results as objects of the peer, the places of tensors written)
  nb::tuple run_objects(nb::handle arguments, nb::handle members) const;
  /// (results, saved, backward or None, which results carry a gradient, the places of tensors written)
  nb::tuple forward(nb::handle arguments, nb::handle members, nb::bytes needs) const;

 private:
  fg::JittedValues f_;
};

}  // namespace fulgurite_python
