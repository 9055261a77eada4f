// torch.autograd.Function in recordings: a forward and a backward of its own, both functions of Python.
#include "bridge.h"

#include <fulgurite/autograd_function.h>
#include <fulgurite/source_reader.h>

namespace fulgurite_python {

namespace {

using Context = fg::autograd::Context;

/// None of undefined tensors.
nb::list to_list(const std::vector<Tensor>& tensors) {
  nb::list out;
  for (const Tensor& tensor : tensors) out.append(tensor.defined() ? nb::cast(tensor) : nb::none());
  return out;
}

std::vector<Tensor> to_tensors(nb::handle items) {
  std::vector<Tensor> out;
  for (nb::handle item : items) out.push_back(item.is_none() ? Tensor() : nb::cast<Tensor>(item));
  return out;
}

std::vector<Tensor> called(const std::shared_ptr<PyObject>& function, Context& context,
                           const std::vector<Tensor>& tensors) {
  const nb::gil_scoped_acquire gil;
  const nb::object of_call = nb::cast(&context, nb::rv_policy::reference);
  return to_tensors(nb::handle(function.get())(of_call, to_list(tensors)));
}

nb::list run(const std::string& name, nb::handle inputs, nb::object forward, nb::object backward, nb::handle at,
             bool once_differentiable) {
  const auto forward_kept = shared(std::move(forward)), backward_kept = shared(std::move(backward));
  fg::detail::CustomFunction function;
  function.name = fg::intern_file(name);
  function.once_differentiable = once_differentiable;
  function.backward = [backward_kept](Context& context, const std::vector<Tensor>& gradients) {
    return called(backward_kept, context, gradients);
  };
  fg::detail::CustomCall call(std::move(function), to_tensors(inputs), location_of(at));
  return to_list(call.run(
      [&](Context& context, const std::vector<Tensor>& tensors) { return called(forward_kept, context, tensors); }));
}

}  // namespace

void bind_custom_functions(nb::module_& m) {
  nb::class_<Context>(m, "FunctionContext", "The state that a custom function's forward leaves for its backward.")
      .def("save_for_backward", [](Context& c, nb::handle tensors) { c.save_for_backward(to_tensors(tensors)); })
      .def("saved_tensors", [](const Context& c) { return to_list(c.saved_tensors()); })
      .def("mark_dirty", [](Context& c, nb::handle tensors) { c.mark_dirty(to_tensors(tensors)); })
      .def("mark_non_differentiable",
           [](Context& c, nb::handle tensors) { c.mark_non_differentiable(to_tensors(tensors)); })
      .def("set_materialize_grads", &Context::set_materialize_grads)
      .def("needs_input_grad", &Context::needs_input_grad, nb::arg("argument"));
  m.def("custom_function", &run, nb::arg("name"), nb::arg("inputs"), nb::arg("forward"), nb::arg("backward"),
        nb::arg("at") = nb::none(), nb::arg("once_differentiable") = false);
}

}  // namespace fulgurite_python
