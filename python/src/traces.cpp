#include <sstream>

#include "bridge.h"

namespace fulgurite_python {

namespace {

/// A tensor of a trace: its name and type; its repr is its name.
struct TensorDescription {
  Value value;
};

nb::object describe(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::tensor: return nb::cast(TensorDescription{value});
    case Value::Kind::list:
    case Value::Kind::collection: {
      nb::list out;
      for (const Value& item : value.list()) out.append(describe(item));
      return nb::tuple(out);
    }
    case Value::Kind::integer:
    case Value::Kind::floating:
    case Value::Kind::boolean: return value.is_proxy() ? nb::cast(fg::python_value(value)) : from_value(value);
    default: return from_value(value);
  }
}

template <class Values>
nb::tuple describe_all(const Values& values) {
  nb::list out;
  for (const Value& value : values) out.append(describe(value));
  return nb::tuple(out);
}

nb::object source_of(const fg::BoundSymbol& line) {
  if (line.source.line == 0) return nb::none();
  return nb::make_tuple(line.source.file, line.source.line);
}

nb::list forward_of(const fg::BoundSymbol& line) {
  nb::list out;
  for (const fg::ForwardOrigin& origin : line.forward_origins())
    out.append(nb::make_tuple(origin.result, origin.symbol));
  return out;
}

nb::dict kwargs_of(const fg::BoundSymbol& line) {
  nb::dict out;
  for (const auto& [key, value] : line.kwargs) out[nb::str(key.c_str())] = describe(value);
  return out;
}

std::vector<fg::BoundSymbol> lines_of(const fg::Trace& trace) {
  return {trace.bound_symbols.begin(), trace.bound_symbols.end()};
}

void bind_tensor_description(nb::module_& m) {
  nb::class_<TensorDescription>(m, "TensorProxy", "A tensor of a trace.")
      .def_prop_ro("name", [](const TensorDescription& t) { return t.value.tensor().name; })
      .def_prop_ro("shape",
                   [](const TensorDescription& t) {
                     nb::list out;
                     for (const fg::Int size : t.value.tensor().shape) out.append(size.hint());
                     return nb::tuple(out);
                   })
      .def_prop_ro("dtype", [](const TensorDescription& t) { return t.value.tensor().dtype; })
      .def_prop_ro("device", [](const TensorDescription& t) { return t.value.tensor().device.name(); })
      .def_prop_ro("requires_grad", [](const TensorDescription& t) { return t.value.tensor().requires_grad; })
      .def("__repr__", [](const TensorDescription& t) { return t.value.tensor().name; });
}

}  // namespace

void bind_traces(nb::module_& m) {
  bind_tensor_description(m);
  nb::class_<fg::BoundSymbol>(m, "BoundSymbol", "One line of a trace.")
      .def_prop_ro("name", &fg::BoundSymbol::name)
      .def_prop_ro("is_fusion", &fg::BoundSymbol::is_fusion)
      .def_prop_ro("args", [](const fg::BoundSymbol& b) { return describe_all(b.args); })
      .def_prop_ro("kwargs", &kwargs_of)
      .def_prop_ro("outputs", [](const fg::BoundSymbol& b) { return describe_all(b.outputs); })
      .def_prop_ro("subsymbols",
                   [](const fg::BoundSymbol& b) {
                     return std::vector<fg::BoundSymbol>(b.subsymbols.begin(), b.subsymbols.end());
                   })
      .def_prop_ro("source", &source_of, "(file, line) of the program, or None.")
      .def_prop_ro("forward", &forward_of, "Of a backward line: the (value, operator) of the forward that it serves.")
      .def("cpp",
           [](const fg::BoundSymbol& b) {
             std::ostringstream out;
             out << b;
             return out.str();
           })
      .def("__repr__", [](const fg::BoundSymbol& b) { return fg::python(b); });
  nb::class_<fg::Trace>(m, "Trace", "A recorded program.")
      .def(
          "python", [](const fg::Trace& t, bool source) { return t.python({.source = source}); },
          nb::arg("source") = true)
      .def(
          "cpp", [](const fg::Trace& t, bool source) { return t.cpp({.source = source}); }, nb::arg("source") = true)
      .def("__str__", [](const fg::Trace& t) { return t.python(); })
      .def("__repr__", [](const fg::Trace& t) { return t.python(); })
      .def_ro("name", &fg::Trace::name)
      .def_ro("provenance", &fg::Trace::provenance)
      .def_ro("milliseconds", &fg::Trace::milliseconds)
      .def_prop_ro("args", [](const fg::Trace& t) { return describe_all(t.args); })
      .def_prop_ro("bound_symbols", &lines_of);
}

}  // namespace fulgurite_python
