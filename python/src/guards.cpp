// The check of what a compiled function has read in Python besides its arguments, which each call makes.
#include <cstring>

#include "bridge.h"

namespace fulgurite_python {

namespace {

/// The place that a guard compares with its value.
enum class GuardKind : uint8_t { item, element, cell, length, attribute, type_of_item, equal, no_item, call };

struct Decref {
  void operator()(PyObject* object) const { Py_DECREF(object); }
};
using Owned = std::unique_ptr<PyObject, Decref>;

PyObject* borrowed_item(PyObject* dict, PyObject* key) {
  PyObject* const found = PyDict_GetItemWithError(dict, key);
  if (!found && PyErr_Occurred()) throw nb::python_error();
  return found;
}

PyObject* attribute(PyObject* object, PyObject* name) {
  PyObject* const found = PyObject_GetAttr(object, name);
  if (!found) PyErr_Clear();
  return found;
}

Owned element(PyObject* holder, Py_ssize_t i) {
  if (!PyList_Check(holder)) return Owned(PySequence_GetItem(holder, i));
  PyObject* const found = PyList_GetItem(holder, i);
  Py_INCREF(found);
  return Owned(found);
}

/// The number of items, as the type itself counts them: a subclass may count others.
Py_ssize_t size_of(PyObject* holder) {
  if (PyDict_Check(holder)) return PyDict_Size(holder);
  if (PyList_Check(holder)) return PyList_Size(holder);
  return PyObject_Size(holder);
}

/// The same object, or a number or text of the same type and value; zeros of different signs differ.
bool is_same(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (!a || Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyFloat_CheckExact(a)) {
    const double x = PyFloat_AsDouble(a), y = PyFloat_AsDouble(b);
    return std::memcmp(&x, &y, sizeof x) == 0;
  }
  return (PyLong_CheckExact(a) || PyUnicode_CheckExact(a)) && PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

bool holds(PyObject* guard) {
  static PyObject* const contents = PyUnicode_InternFromString("cell_contents");
  PyObject *const holder = PyTuple_GetItem(guard, 1), *const key = PyTuple_GetItem(guard, 2);
  PyObject* const value = PyTuple_GetItem(guard, 3);
  switch (GuardKind(PyLong_AsLong(PyTuple_GetItem(guard, 0)))) {
    case GuardKind::item: return is_same(borrowed_item(holder, key), value);
    case GuardKind::element: {
      const Py_ssize_t i = PyLong_AsSsize_t(key);
      return i < size_of(holder) && is_same(element(holder, i).get(), value);
    }
    case GuardKind::cell: return is_same(Owned(attribute(holder, contents)).get(), value);
    case GuardKind::length: return PyObject_Size(holder) == PyLong_AsSsize_t(value);
    case GuardKind::attribute: return is_same(Owned(attribute(holder, key)).get(), value);
    case GuardKind::type_of_item: {
      PyObject* const now = borrowed_item(holder, key);
      return now && reinterpret_cast<PyObject*>(Py_TYPE(now)) == value;
    }
    case GuardKind::equal: return PyObject_RichCompareBool(holder, value, Py_EQ) == 1;
    case GuardKind::no_item: return !borrowed_item(holder, key);
    case GuardKind::call: {
      const Owned now(PyObject_CallNoArgs(holder));
      if (!now) throw nb::python_error();
      return PyObject_RichCompareBool(now.get(), value, Py_EQ) == 1;
    }
  }
  return false;
}

}  // namespace

void bind_guards(nb::module_& m) {
  nb::enum_<GuardKind>(m, "GuardKind", nb::is_arithmetic(), "The place that a guard compares with its value.")
      .value("ITEM", GuardKind::item)
      .value("ELEMENT", GuardKind::element)
      .value("CELL", GuardKind::cell)
      .value("LENGTH", GuardKind::length)
      .value("ATTRIBUTE", GuardKind::attribute)
      .value("TYPE_OF_ITEM", GuardKind::type_of_item)
      .value("EQUAL", GuardKind::equal)
      .value("NO_ITEM", GuardKind::no_item)
      .value("CALL", GuardKind::call);
  m.def(
      "first_changed",
      [](nb::list guards) -> Py_ssize_t {
        const Py_ssize_t count = PyList_Size(guards.ptr());
        for (Py_ssize_t i = 0; i < count; ++i)
          if (!holds(PyList_GetItem(guards.ptr(), i))) return i;
        return -1;
      },
      nb::arg("guards"), "The place of the first guard, (how, holder, key, value), that does not hold; -1 of none.");
}

}  // namespace fulgurite_python
