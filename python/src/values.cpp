// Python objects as values, and back.
#include "bridge.h"

namespace fulgurite_python {

namespace {

const char* const dtype_names[] = {"float64", "float32", "bfloat16", "float16", "int64",
                                   "int32",   "int16",   "int8",     "uint8",   "bool"};

std::optional<fg::Dtype> find_dtype(std::string_view name) {
  if (name.starts_with("torch.")) name.remove_prefix(6);
  for (int i = 0; i < fg::dtype_count; ++i)
    if (name == dtype_names[i] || name == fg::name(static_cast<fg::Dtype>(i))) return static_cast<fg::Dtype>(i);
  return {};
}

std::string name_of_type(nb::handle object) {
  const nb::handle type = object.type();
  return nb::cast<std::string>(type.attr("__module__")) + "." + nb::cast<std::string>(type.attr("__qualname__"));
}

std::optional<fg::Int> open_end(nb::handle h) {
  if (h.is_none()) return {};
  if (nb::isinstance<fg::Int>(h)) return nb::cast<fg::Int>(h);
  return fg::Int(nb::cast<int64_t>(nb::object(h.attr("__index__")())));
}

Value list_value(nb::handle sequence) {
  std::vector<Value> items;
  for (nb::handle item : sequence) items.push_back(to_value(item));
  return Value(std::move(items));
}

/// The names of types in torch and numpy, without importing either.
std::optional<Value> value_by_name_of_type(nb::handle object) {
  const std::string type = name_of_type(object);
  if (type == "torch.dtype" || type == "numpy.dtype" || type.starts_with("numpy.dtypes."))
    return Value(dtype_of(object));
  if (type == "torch.device") return Value(fg::Device(nb::cast<std::string>(nb::str(object))));
  if (type == "torch.Size") return list_value(object);
  return {};
}

}  // namespace

std::string dname_of_type(fg::Dtype dtype) { return dtype_names[static_cast<int>(dtype)]; }

fg::Dtype dtype_of(nb::handle object) {
  if (nb::isinstance<fg::Dtype>(object)) return nb::cast<fg::Dtype>(object);
  const std::string name = nb::cast<std::string>(nb::str(object));
  if (const auto found = find_dtype(name)) return *found;
  throw nb::type_error(
      ("fulgurite has no dtype " + name + "; it has f64, f32, bf16, f16, i64, i32, i16, i8, u8 and bool").c_str());
}

Value to_value(nb::handle object) {
  PyObject* const o = object.ptr();
  if (object.is_none()) return {};
  if (is_of_peer(object)) return Value(import_tensor(object));
  if (PyBool_Check(o)) return Value(o == Py_True);
  if (PyLong_Check(o)) {
    const long long number = PyLong_AsLongLong(o);
    if (number == -1 && PyErr_Occurred()) throw nb::python_error();
    return Value(fg::Int(number));
  }
  if (PyFloat_Check(o)) return Value(fg::Float(PyFloat_AsDouble(o)));
  if (PyUnicode_Check(o)) return Value(nb::cast<std::string>(object));
  if (nb::isinstance<Tensor>(object)) return Value(nb::cast<Tensor&>(object));
  if (nb::isinstance<fg::Int>(object)) return Value(nb::cast<fg::Int>(object));
  if (nb::isinstance<fg::Float>(object)) return Value(nb::cast<fg::Float>(object));
  if (nb::isinstance<fg::Dtype>(object)) return Value(nb::cast<fg::Dtype>(object));
  if (o == Py_Ellipsis) return Value(fg::Ellipsis);
  if (PySlice_Check(o))
    return Value(
        fg::Slice(open_end(object.attr("start")), open_end(object.attr("stop")), open_end(object.attr("step"))));
  if (PyList_Check(o) || PyTuple_Check(o)) return list_value(object);
  if (const auto value = value_by_name_of_type(object)) return *value;
  if (nb::hasattr(object, "__dlpack__")) return Value(import_tensor(object));
  if (nb::hasattr(object, "__index__"))
    return Value(fg::Int(nb::cast<int64_t>(nb::object(object.attr("__index__")()))));
  if (nb::hasattr(object, "__float__"))
    return Value(fg::Float(nb::cast<double>(nb::object(object.attr("__float__")()))));
  throw nb::type_error(("an argument of type " + name_of_type(object) + " is nothing that an operator takes").c_str());
}

nb::object from_value(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::none: return nb::none();
    case Value::Kind::tensor: return value.tensor().concrete.defined() ? nb::cast(Tensor(value)) : nb::none();
    case Value::Kind::integer: return value.is_proxy() ? nb::cast(value.integer()) : nb::cast(value.integer().hint());
    case Value::Kind::floating:
      return value.is_proxy() ? nb::cast(value.floating()) : nb::cast(value.floating().hint());
    case Value::Kind::boolean: return nb::cast(value.boolean().hint());
    case Value::Kind::string: return nb::cast(value.string());
    case Value::Kind::dtype: return nb::cast(value.dtype());
    case Value::Kind::device: return nb::cast(value.device().name());
    case Value::Kind::ellipsis: return nb::borrow(Py_Ellipsis);
    case Value::Kind::list:
    case Value::Kind::collection: {
      nb::list out;
      for (const Value& item : value.list()) out.append(from_value(item));
      return nb::tuple(out);
    }
    case Value::Kind::slice: return nb::cast(fg::python_value(value));
  }
  return nb::none();
}

template <class T, class Bound>
void bind_comparisons(Bound& bound) {
  bound
      .def(
          "__eq__", [](T a, T b) { return static_cast<bool>(a == b); }, nb::is_operator())
      .def(
          "__ne__", [](T a, T b) { return static_cast<bool>(a != b); }, nb::is_operator())
      .def(
          "__lt__", [](T a, T b) { return static_cast<bool>(a < b); }, nb::is_operator())
      .def(
          "__le__", [](T a, T b) { return static_cast<bool>(a <= b); }, nb::is_operator())
      .def(
          "__gt__", [](T a, T b) { return static_cast<bool>(a > b); }, nb::is_operator())
      .def(
          "__ge__", [](T a, T b) { return static_cast<bool>(a >= b); }, nb::is_operator())
      .def("__neg__", [](T a) { return -a; })
      .def(
          "__add__", [](T a, T b) { return a + b; }, nb::is_operator())
      .def(
          "__radd__", [](T a, T b) { return b + a; }, nb::is_operator())
      .def(
          "__sub__", [](T a, T b) { return a - b; }, nb::is_operator())
      .def(
          "__rsub__", [](T a, T b) { return b - a; }, nb::is_operator())
      .def(
          "__mul__", [](T a, T b) { return a * b; }, nb::is_operator())
      .def(
          "__rmul__", [](T a, T b) { return b * a; }, nb::is_operator());
}

void bind_numbers(nb::module_& m) {
  nb::enum_<fg::Dtype> dtypes(m, "Dtype", "The type of a tensor's elements.");
  for (int i = 0; i < fg::dtype_count; ++i) dtypes.value(dtype_names[i], static_cast<fg::Dtype>(i));
  dtypes.def_prop_ro("short_name", [](fg::Dtype dtype) { return std::string(fg::name(dtype)); });
  dtypes.def_prop_ro("is_floating_point", [](fg::Dtype dtype) { return fg::is_floating(dtype); });
  m.def("dtype", &dtype_of, nb::arg("name"));

  nb::class_<fg::Int> ints(m, "Int", "An integer that may be a symbol of the function being recorded.");
  ints.def(nb::init<int64_t>())
      .def("__repr__", [](fg::Int a) { return std::to_string(a.hint()) + (a.is_symbolic() ? " (symbol)" : ""); })
      .def("__hash__", [](fg::Int a) { return static_cast<int64_t>(a); })
      .def("__int__", [](fg::Int a) { return static_cast<int64_t>(a); })
      .def("__index__", [](fg::Int a) { return static_cast<int64_t>(a); })
      .def("__bool__", [](fg::Int a) { return static_cast<bool>(a != 0); })
      .def(
          "__floordiv__",
          [](fg::Int a, fg::Int b) {
            return a.is_symbolic() || b.is_symbolic() ? a / b : fg::Int(fg::detail::floor_divide(a, b));
          },
          nb::is_operator())
      .def(
          "__mod__",
          [](fg::Int a, fg::Int b) {
            return a.is_symbolic() || b.is_symbolic() ? a % b : fg::Int(fg::detail::floor_remainder(a, b));
          },
          nb::is_operator())
      .def("hint", [](fg::Int a) { return a.hint(); })
      .def_prop_ro("is_symbolic", &fg::Int::is_symbolic);
  bind_comparisons<fg::Int>(ints);
  nb::implicitly_convertible<int64_t, fg::Int>();
  nb::class_<fg::Float> floats(m, "Float", "A float that may be a symbol of the function being recorded.");
  floats.def(nb::init<double>())
      .def("__repr__", [](fg::Float a) { return std::to_string(a.hint()); })
      .def("__float__", [](fg::Float a) { return static_cast<double>(a); })
      .def(
          "__truediv__", [](fg::Float a, fg::Float b) { return a / b; }, nb::is_operator())
      .def("hint", [](fg::Float a) { return a.hint(); });
  bind_comparisons<fg::Float>(floats);
  nb::implicitly_convertible<double, fg::Float>();
}

}  // namespace fulgurite_python
