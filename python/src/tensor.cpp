#include <sstream>

#include "bridge.h"

namespace fulgurite_python {

namespace {

nb::object size_of(fg::Int size) { return size.is_symbolic() ? nb::cast(size) : nb::cast(size.hint()); }

nb::tuple shape_of(const Tensor& tensor) {
  nb::list out;
  for (const fg::Int size : tensor.shape()) out.append(size_of(size));
  return nb::tuple(out);
}

nb::object item(const Tensor& tensor, nb::handle where) {
  const SourceLocation at = location_of(where);
  if (tensor.dtype() == fg::Dtype::boolean) return nb::cast(tensor.item<bool>(at));
  if (fg::is_integer(tensor.dtype())) return nb::cast(tensor.item<int64_t>(at));
  return nb::cast(tensor.item<double>(at));
}

template <class T>
nb::list nested(const std::vector<T>& elements, const std::vector<int64_t>& sizes, size_t dim, size_t& next) {
  nb::list out;
  for (int64_t i = 0; i < sizes[dim]; ++i) {
    if (dim + 1 == sizes.size()) out.append(nb::cast(static_cast<T>(elements[next++])));
    else out.append(nested(elements, sizes, dim + 1, next));
  }
  return out;
}

template <class T>
nb::object to_list(const Tensor& tensor, fg::Dtype dtype, SourceLocation at) {
  const std::vector<T> elements = tensor.to(dtype, at).to_vector<T>(at);
  size_t next = 0;
  return nested(elements, tensor.shape().to_vector(), 0, next);
}

nb::object tolist(const Tensor& tensor) {
  const SourceLocation at = python_line();
  if (tensor.ndim() == 0) return item(tensor, nb::none());
  if (tensor.dtype() == fg::Dtype::boolean) return to_list<bool>(tensor, fg::Dtype::boolean, at);
  if (fg::is_integer(tensor.dtype())) return to_list<int64_t>(tensor, fg::Dtype::i64, at);
  return to_list<double>(tensor, fg::Dtype::f64, at);
}

void flatten(nb::handle data, size_t depth, std::vector<int64_t>& sizes, std::vector<Value>& out) {
  if (!PyList_Check(data.ptr()) && !PyTuple_Check(data.ptr())) {
    if (depth != sizes.size()) throw nb::value_error("tensor: the lists are not of one length");
    out.push_back(to_value(data));
    if (!out.back().is_number()) throw nb::type_error("tensor: elements are numbers");
    return;
  }
  const auto length = static_cast<int64_t>(nb::len(data));
  if (depth == sizes.size() && out.empty()) sizes.push_back(length);
  if (depth >= sizes.size() || sizes[depth] != length) throw nb::value_error("tensor: the lists are not of one length");
  for (nb::handle item : data) flatten(item, depth + 1, sizes, out);
}

Tensor make_tensor(nb::handle data, std::optional<fg::Dtype> dtype, bool requires_grad) {
  std::vector<int64_t> sizes;
  std::vector<Value> elements;
  flatten(data, 0, sizes, elements);
  bool is_floating = elements.empty(), is_boolean = !elements.empty();
  for (const Value& e : elements) {
    is_floating = is_floating || e.is_float();
    is_boolean = is_boolean && e.is_bool();
  }
  const SourceLocation at = python_line();
  Tensor out;
  if (is_floating || (dtype && fg::is_floating(*dtype))) {
    std::vector<double> numbers;
    for (const Value& e : elements) numbers.push_back(e.is_bool() ? e.boolean().hint() : e.floating().hint());
    out = fg::tensor(std::span<const double>(numbers), fg::Shape(sizes), {.dtype = dtype.value_or(fg::default_dtype())},
                     at);
  } else {
    std::vector<int64_t> numbers;
    for (const Value& e : elements) numbers.push_back(e.is_bool() ? e.boolean().hint() : e.integer().hint());
    out = fg::tensor(std::span<const int64_t>(numbers), fg::Shape(sizes),
                     {.dtype = dtype.value_or(is_boolean ? fg::Dtype::boolean : fg::Dtype::i64)}, at);
  }
  return requires_grad ? out.requires_grad_() : out;
}

std::string repr(const Tensor& tensor) {
  std::ostringstream out;
  out << tensor;
  return out.str();
}

void backward(const Tensor& tensor, const std::optional<Tensor>& gradient, std::optional<bool> retain_graph,
              bool create_graph) {
  const SourceLocation at = python_line();
  const nb::gil_scoped_release released;
  tensor.backward(gradient.value_or(Tensor()), {.retain_graph = retain_graph, .create_graph = create_graph}, at);
}

void set_grad(const Tensor& tensor, std::optional<Tensor> gradient) {
  tensor.set_grad(gradient.value_or(Tensor()), python_line());
}

}  // namespace

void bind_tensor(nb::module_& m) {
  nb::class_<Tensor>(m, "Tensor", nb::is_weak_referenceable(),
                     "An array of numbers: a handle to shared, strided memory.")
      .def("__repr__", &repr)
      .def_prop_ro("shape", &shape_of, "The sizes.")
      .def(
          "size",
          [](const Tensor& t, std::optional<int> dim) -> nb::object {
            return dim ? size_of(t.size(*dim)) : nb::object(shape_of(t));
          },
          nb::arg("dim") = nb::none())
      .def("stride",
           [](const Tensor& t) {
             nb::list out;
             for (const fg::Int stride : t.strides()) out.append(size_of(stride));
             return nb::tuple(out);
           })
      .def_prop_ro("dtype", &Tensor::dtype, "The type of the elements.")
      .def_prop_ro("device", [](const Tensor& t) { return t.device().name(); })
      .def_prop_ro("ndim", &Tensor::ndim)
      .def("dim", &Tensor::ndim)
      .def("numel", [](const Tensor& t) { return size_of(t.numel()); })
      .def("__len__",
           [](const Tensor& t) {
             if (t.ndim() == 0) throw nb::type_error("a tensor without dimensions has no length");
             return static_cast<int64_t>(t.size(0));
           })
      .def("is_contiguous", &Tensor::is_contiguous)
      .def("data_ptr", [](const Tensor& t) { return reinterpret_cast<uintptr_t>(t.data_pointer(python_line())); })
      .def_prop_rw(
          "requires_grad", [](const Tensor& t) { return t.requires_grad(); },
          [](const Tensor& t, bool on) { t.requires_grad_(on); })
      .def(
          "requires_grad_", [](const Tensor& t, bool on) { return t.requires_grad_(on); },
          nb::arg("requires_grad") = true)
      .def_prop_ro("is_leaf", &Tensor::is_leaf)
      .def_prop_rw(
          "grad",
          [](const Tensor& t) -> std::optional<Tensor> {
            const Tensor gradient = t.grad(python_line());
            return gradient.defined() ? std::optional(gradient) : std::nullopt;
          },
          &set_grad, nb::for_setter(nb::arg("gradient").none()), "The gradient that backward() accumulated, or None.")
      .def("backward", &backward, nb::arg("gradient") = nb::none(), nb::arg("retain_graph") = nb::none(),
           nb::arg("create_graph") = false)
      .def("detach", [](const Tensor& t) { return t.detach(python_line()); })
      .def(
          "item", [](const Tensor& t, nb::object at) { return item(t, at); }, nb::arg("at") = nb::none())
      .def("tolist", &tolist)
      .def("__bool__", [](const Tensor& t) { return t.item<bool>(python_line()); })
      .def("__int__", [](const Tensor& t) { return t.item<int64_t>(python_line()); })
      .def("__index__",
           [](const Tensor& t) {
             if (!fg::is_integer(t.dtype())) throw nb::type_error("only a tensor of one integer is an index");
             return t.item<int64_t>(python_line());
           })
      .def("__float__", [](const Tensor& t) { return t.item<double>(python_line()); })
      .def("__setitem__",
           [](const Tensor& t, nb::object index, nb::object value) { set_item(t, index, value, nb::none()); })
      .def("write_count", [](const Tensor& t) { return fg::write_count(t, python_line()); })
      .def(
          "shares_memory", [](const Tensor& t, const Tensor& other) { return fg::shares_memory(t, other); },
          nb::arg("other"));
  m.def("tensor", &make_tensor, nb::arg("data"), nb::arg("dtype") = nb::none(), nb::arg("requires_grad") = false);
  m.def("set_item", &set_item, nb::arg("tensor"), nb::arg("index"), nb::arg("value"), nb::arg("at").none());
  m.def("is_same_view", &fg::is_same_view);
  m.def("is_proxy", [](const Tensor& t) { return fg::detail::is_tracing() && fg::Value(t).tensor().id >= 0; });
}

}  // namespace fulgurite_python
