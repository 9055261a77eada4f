#include "bridge.h"

namespace fulgurite_python {

namespace {

const fg::Symbol& need(const std::string& name) {
  if (const fg::Symbol* symbol = fg::find_symbol(name)) return *symbol;
  throw fg::UserError("there is no operator '" + name + "'");
}

std::map<std::string, Value> named_values(nb::dict given) {
  std::map<std::string, Value> out;
  for (auto [key, value] : given) out.emplace(nb::cast<std::string>(key), to_value(value));
  return out;
}

nb::object call(const std::string& name, nb::handle args, nb::dict kwargs, nb::handle at) {
  std::vector<Value> values;
  for (nb::handle argument : args) values.push_back(to_value(argument));
  const auto named = named_values(kwargs);
  const SourceLocation where = location_of(at);
  if (fg::detail::is_tracing()) return from_value(fg::call(name, values, named, where));
  Value result;
  {
    const nb::gil_scoped_release released;
    result = fg::call(name, values, named, where);
  }
  return from_value(result);
}

nb::list parameters(const std::string& name) {
  static constexpr const char* types[] = {"tensor",   "operand",   "tensors", "integer", "integers",
                                          "floating", "floatings", "boolean", "string",  "padding",
                                          "dtype",    "device",    "indices"};
  nb::list out;
  for (const fg::Parameter& p : need(name).signature.params())
    out.append(nb::make_tuple(std::string(p.name), types[static_cast<int>(p.type)], p.optional, p.keyword_only,
                              std::string(p.default_text)));
  return out;
}

}  // namespace

void bind_operators(nb::module_& m) {
  m.def("call", &call, nb::arg("name"), nb::arg("args"), nb::arg("kwargs") = nb::dict(), nb::arg("at") = nb::none());
  m.def("has_operator", [](const std::string& name) {
    const fg::Symbol* symbol = fg::find_symbol(name);
    return symbol && (name.starts_with("prims.") || !symbol->qualified_name().starts_with("prims."));
  });
  m.def("operator_names", [] {
    std::vector<std::string> out;
    for (const fg::Symbol* symbol : fg::symbols())
      if (!symbol->traits.structural) out.emplace_back(symbol->qualified_name());
    return out;
  });
  m.def("signature", [](const std::string& name) { return std::string(need(name).signature.text); });
  m.def("documentation", [](const std::string& name) { return std::string(need(name).documentation); });
  m.def("is_view", [](const std::string& name) { return need(name).traits.view; });
  m.def("result_count", [](const std::string& name) { return need(name).signature.result_count; });
  m.def("parameters", &parameters);
}

}  // namespace fulgurite_python
