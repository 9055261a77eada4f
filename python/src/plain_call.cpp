// Calls of compiled functions with plain tensors alone and without gradients, which take less time than the Python code
// that handles all calls.
#include <memory>

#include "function.h"

namespace fulgurite_python {

namespace {

/// PyTorch's functions and types that a call asks.
struct Peer {
  nb::object is_grad_enabled, is_any_autocast_enabled, default_dtype, num_threads, increment_version;
  nb::object tensor_type, parameter_type;
};
Peer* peer = nullptr;  // lives as long as the process

bool asks(const nb::object& function) {
  PyObject* const answer = PyObject_CallNoArgs(function.ptr());
  if (!answer) throw nb::python_error();
  Py_DECREF(answer);
  return answer == Py_True;
}

bool needs_gradient(PyObject* tensor) {
  static PyObject* const name = PyUnicode_InternFromString("requires_grad");
  PyObject* const answer = PyObject_GetAttr(tensor, name);
  if (!answer) throw nb::python_error();
  Py_DECREF(answer);
  return answer == Py_True;
}

class PlainCall {
 public:
  /// `finish` makes the call's result of the list of the function's; or it is a list of such callables, and the last
  /// one of the function's results says which one is to be called. `is_member` has an entry for each argument of a
  /// call, or none where all are arguments of the function. `grad`: the gradient mode that this is for, if one.
  /// `follows_modes`: for calls without autocast and with the present default dtype.
  PlainCall(nb::object function, nb::object finish, std::vector<bool> is_member, std::optional<bool> grad,
            bool follows_modes)
      : function_(std::move(function)),
        finish_(std::move(finish)),
        is_member_(std::move(is_member)),
        grad_(grad),
        follows_modes_(follows_modes),
        default_dtype_(peer->default_dtype()),
        dtype_(dtype_of(default_dtype_)) {}

  /// NotImplemented where the call is another one than this object is for.
  nb::object run(nb::tuple args) const {
    if (!is_plain(args)) return nb::borrow(Py_NotImplemented);
    follow_thread_count(nb::cast<int>(peer->num_threads()));
    follow_default_dtype(dtype_);
    if (is_member_.empty()) return run_with(args, args, nb::tuple());
    nb::list arguments, members;
    for (size_t i = 0; i < args.size(); ++i) (is_member_[i] ? members : arguments).append(args[i]);
    return run_with(nb::list(arguments + members), arguments, members);
  }

  /// For Python's collector.
  template <class F>
  void visit(F&& f) const {
    f(function_.ptr());
    f(finish_.ptr());
  }
  void clear() {
    function_.reset();
    finish_.reset();
  }

 private:
  /// `every`: the arguments, then the members.
  nb::object run_with(nb::handle every, nb::handle arguments, nb::handle members) const {
    const Arguments given(arguments, members);
    nb::list results = nb::cast<Function&>(function_).run(given);
    for (nb::handle place : given.written()) peer->increment_version(every[place]);
    if (!PyList_CheckExact(finish_.ptr())) return finish_(results);
    const auto last = static_cast<Py_ssize_t>(results.size()) - 1;
    const nb::object which = results[last];
    if (PyList_SetSlice(results.ptr(), last, last + 1, nullptr) != 0) throw nb::python_error();
    return finish_[which](results);
  }

  bool is_plain(const nb::tuple& args) const {
    if (!is_member_.empty() && is_member_.size() != args.size()) return false;
    for (nb::handle x : args) {
      const auto* const type = reinterpret_cast<PyObject*>(Py_TYPE(x.ptr()));
      if (type != peer->tensor_type.ptr() && type != peer->parameter_type.ptr()) return false;
    }
    const bool grad = asks(peer->is_grad_enabled);
    if (grad_ && grad != *grad_) return false;
    // A result may be the memory of an argument without its gradient, which Python's code sees to.
    if (grad || follows_modes_)
      for (nb::handle x : args)
        if (needs_gradient(x.ptr())) return false;
    return !follows_modes_ ||
           (!asks(peer->is_any_autocast_enabled) && nb::object(peer->default_dtype()).is(default_dtype_));
  }

  nb::object function_, finish_;
  std::vector<bool> is_member_;
  std::optional<bool> grad_;
  bool follows_modes_;
  nb::object default_dtype_;
  fg::Dtype dtype_;
};

}  // namespace

void bind_plain_calls(nb::module_& m) {
  m.def("set_plain_calls",
        [](nb::object is_grad_enabled, nb::object is_any_autocast_enabled, nb::object default_dtype,
           nb::object num_threads, nb::object increment_version, nb::object tensor, nb::object parameter) {
          peer = new Peer{std::move(is_grad_enabled), std::move(is_any_autocast_enabled), std::move(default_dtype),
                          std::move(num_threads),     std::move(increment_version),       std::move(tensor),
                          std::move(parameter)};
        });
  nb::class_<PlainCall>(m, "PlainCall", nb::type_slots(collected_slots<PlainCall>()),
                        "A compiled function's calls with plain tensors alone, without gradients.")
      .def(nb::init<nb::object, nb::object, std::vector<bool>, std::optional<bool>, bool>(), nb::arg("function"),
           nb::arg("finish"), nb::arg("is_member"), nb::arg("grad").none(), nb::arg("follows_modes"))
      .def("run", &PlainCall::run, nb::arg("arguments"));
}

}  // namespace fulgurite_python
