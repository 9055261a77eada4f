#pragma once
// Declarations that the parts of the extension share.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <vector>

#include <fulgurite/fulgurite.h>

namespace fulgurite_python {

namespace nb = nanobind;
namespace fg = fulgurite;
using fg::SourceLocation;
using fg::Tensor;
using fg::Value;

/// The slots of a type whose objects own Python objects, so that Python's collector finds cycles through them.
/// T::visit(f) calls f with each, T::clear() lets go of them.
template <class T>
PyType_Slot* collected_slots() {
  static const auto traverse = [](PyObject* self, visitproc visit, void* arg) -> int {
    Py_VISIT(Py_TYPE(self));
    int status = 0;
    if (nb::inst_ready(self))
      nb::inst_ptr<T>(self)->visit([&](PyObject* owned) {
        if (owned && status == 0) status = visit(owned, arg);
      });
    return status;
  };
  static const auto clear = [](PyObject* self) -> int {
    nb::inst_ptr<T>(self)->clear();
    return 0;
  };
  static PyType_Slot slots[] = {
      {Py_tp_traverse, reinterpret_cast<void*>(static_cast<int (*)(PyObject*, visitproc, void*)>(traverse))},
      {Py_tp_clear, reinterpret_cast<void*>(static_cast<int (*)(PyObject*)>(clear))},
      {0, nullptr}};
  return slots;
}

/// The parts of the module.
void bind_errors(nb::module_&);
void bind_numbers(nb::module_&);
void bind_exchange(nb::module_&);
void bind_tensor(nb::module_&);
void bind_operators(nb::module_&);
void bind_compositions(nb::module_&);
void bind_modes(nb::module_&);
void bind_openmp_threads(nb::module_&);
void bind_traces(nb::module_&);
void bind_functions(nb::module_&);
void bind_plain_calls(nb::module_&);
void bind_guards(nb::module_&);
void bind_custom_functions(nb::module_&);
void bind_backward(nb::module_&);
void bind_examine(nb::module_&);
void bind_command_line(nb::module_&);

/// A tensor over the memory of any object that speaks DLPack; None is the undefined tensor. TypeError where it does not
/// or is on another device.
Tensor import_tensor(nb::handle object);
/// `tensor[index] = value`, recorded for the line `where`.
void set_item(const Tensor& tensor, nb::handle index, nb::handle value, nb::handle where);
/// Returns true for an object of the type whose exchange table was set.
bool is_of_peer(nb::handle object);
/// An object of the type whose exchange table was set, without history; None of the undefined tensor.
nb::object export_tensor(const Tensor&);

/// The backward of a call; None of null.
nb::object export_backward(const std::shared_ptr<const fg::CompiledBackward>&);

/// A Python object that C++ owns: let go of with the interpreter's lock.
std::shared_ptr<PyObject> shared(nb::object);

/// Sets the number of threads where PyTorch's is another than at the last call.
void follow_thread_count(int count);

/// Sets the default dtype where it is another one.
void follow_default_dtype(fg::Dtype dtype);

/// Python's numbers, strings, slices, dtypes and sequences as a value, and back.
Value to_value(nb::handle);
nb::object from_value(const Value&);
fg::Dtype dtype_of(nb::handle);
std::string dtype_name(fg::Dtype);

/// The innermost line of Python outside of the package's own files and those of PyTorch.
SourceLocation python_line();
/// That of an argument (file, line), or where it is None the innermost.
SourceLocation location_of(nb::handle file_and_line);

}  // namespace fulgurite_python
