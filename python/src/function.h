#pragma once
#include "arguments.h"

namespace fulgurite_python {

/// The Python callable that a function records. Functions own it, and the library looks it up here: Python's collector
/// follows what functions own, and could not follow a closure of the library.
struct Body {
  PyObject* object = nullptr;
  int owners = 0;
};

/// A compiled function over flat lists of values.
class Function {
 public:
  Function(nb::object body, std::vector<std::string> argument_names, std::vector<std::string> member_names,
           fg::JitOptions options, SourceLocation at);
  /// `f`: made of `other`.
  Function(fg::JittedValues f, const Function& other);
  Function(Function&&) noexcept = default;
  Function& operator=(Function&&) = delete;
  ~Function() { clear(); }

  const fg::JittedValues& jitted() const { return f_; }

  /// The results, as values of the library.
  nb::tuple call(nb::handle arguments, nb::handle members, nb::handle at) const;
  /// The results of a call without gradients, as objects of the peer.
  nb::list run(const Arguments& given) const;
  /// (results as objects of the peer, the places of tensors written)
  nb::tuple run_objects(nb::handle arguments, nb::handle members) const;
  /// (results, saved, which of these only derivatives read, backward or None, which results carry a gradient, the
  /// places of tensors written, the views among the results as pairs of places: of a result, and of the tensor given or
  /// the result, counted behind these, whose memory it is in)
  nb::tuple forward(nb::handle arguments, nb::handle members, nb::bytes needs) const;

  /// For Python's collector.
  template <class F>
  void visit(F&& f) const {
    f(object_.ptr());
  }
  void clear();

 private:
  nb::object object_;
  std::shared_ptr<Body> body_;
  fg::JittedValues f_;
};

}  // namespace fulgurite_python
