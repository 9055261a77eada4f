// Backwards that PyTorch's engine, or the caller, runs.
#include "bridge.h"

namespace fulgurite_python {

namespace {

using Backward = fg::CompiledBackward;

std::vector<Tensor> import_all(nb::handle objects) {
  std::vector<Tensor> out;
  for (nb::handle object : objects) out.push_back(import_tensor(object));
  return out;
}

nb::list run(const Backward& backward, nb::handle saved, nb::handle cotangents) {
  const std::vector<Tensor> kept = import_all(saved), given = import_all(cotangents);
  std::vector<Tensor> gradients;
  {
    const nb::gil_scoped_release released;
    gradients = backward.run(kept, given, {"", 0});
  }
  nb::list out;
  for (const Tensor& gradient : gradients) out.append(export_tensor(gradient));
  return out;
}

nb::tuple run_with_saved(const Backward& backward, nb::handle saved, nb::handle cotangents) {
  const std::vector<Tensor> kept = import_all(saved), given = import_all(cotangents);
  fg::ForwardCall call;
  {
    const nb::gil_scoped_release released;
    call = backward.run_with_saved(kept, given, {"", 0});
  }
  nb::list out;
  for (const Value& result : call.results) out.append(result.is_tensor() ? export_tensor(Tensor(result)) : nb::none());
  return nb::make_tuple(out, export_backward(call.backward));
}

// The gradients of a function over values, without a trace of it being kept.
std::vector<std::optional<Tensor>> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                                        const std::vector<Tensor>& gradients, std::optional<bool> retain_graph,
                                        bool create_graph, bool allow_unused) {
  const SourceLocation at = python_line();
  std::vector<Tensor> found;
  {
    const nb::gil_scoped_release released;
    found = fg::autograd::grad(
        outputs, inputs, gradients,
        {.retain_graph = retain_graph, .create_graph = create_graph, .allow_unused = allow_unused}, at);
  }
  std::vector<std::optional<Tensor>> out;
  for (const Tensor& gradient : found) out.push_back(gradient.defined() ? std::optional(gradient) : std::nullopt);
  return out;
}

}  // namespace

nb::object export_backward(const std::shared_ptr<const Backward>& backward) {
  return backward ? nb::cast(std::const_pointer_cast<Backward>(backward)) : nb::none();
}

void bind_backward(nb::module_& m) {
  nb::class_<Backward>(m, "Backward", "The backward of one call.")
      .def("run", &run, nb::arg("saved"), nb::arg("cotangents"))
      .def("run_with_saved", &run_with_saved, nb::arg("saved"), nb::arg("cotangents"));
  m.def("grad", &grad, nb::arg("outputs"), nb::arg("inputs"), nb::arg("gradients") = std::vector<Tensor>(),
        nb::arg("retain_graph") = nb::none(), nb::arg("create_graph") = false, nb::arg("allow_unused") = false);
}

}  // namespace fulgurite_python
