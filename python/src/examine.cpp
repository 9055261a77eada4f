#include <sstream>

#include "bridge.h"

namespace fulgurite_python {

const fg::Jitted& jitted_of(nb::handle);

namespace {

namespace examine = fg::examine;

template <class T>
std::string printed(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

nb::dict describe(const examine::FusionInput& input) {
  nb::dict out;
  out["name"] = input.name;
  out["shape"] = nb::tuple(nb::cast(input.shape.to_vector()));
  out["strides"] = nb::tuple(nb::cast(input.strides.to_vector()));
  out["offset"] = input.offset;
  out["dtype"] = input.dtype;
  return out;
}

nb::list fusion_inputs(nb::handle f, const std::string& fusion) {
  nb::list out;
  for (const auto& input : examine::fusion_inputs(jitted_of(f), fusion)) out.append(describe(input));
  return out;
}

examine::ReproOptions repro_options(const std::string& language) {
  examine::ReproOptions options;
  if (language == "python") options.language = examine::ReproOptions::Language::python;
  else if (language != "cpp") throw nb::value_error("repro: language is 'cpp' or 'python'");
  return options;
}

nb::dict memory(const fg::Trace& trace) {
  const auto report = examine::memory(trace);
  nb::dict out;
  out["peak_bytes"] = report.peak_bytes;
  out["input_bytes"] = report.input_bytes;
  out["result_bytes"] = report.result_bytes;
  out["saved_bytes"] = report.saved_bytes;
  out["text"] = printed(report);
  return out;
}

nb::object supported(nb::object body) {
  const auto report = examine::supported_body([&] { body(); });
  nb::list operators, problems;
  for (const auto& o : report.operators)
    operators.append(nb::make_tuple(o.name, o.calls, o.executor, o.source.file, o.source.line));
  for (const auto& p : report.problems)
    problems.append(nb::make_tuple(p.what, p.instead, p.source.file, p.source.line));
  return nb::make_tuple(report.all(), operators, problems, printed(report));
}

}  // namespace

void bind_examine(nb::module_& m) {
  m.def("get_fusion_symbols", &examine::get_fusion_symbols, nb::arg("trace"));
  m.def("fusion_names", [](nb::object f) { return examine::fusion_names(jitted_of(f)); });
  m.def("fusion_inputs", [](nb::object f, const std::string& name) { return fusion_inputs(f, name); });
  m.def("fusion_report",
        [](nb::object f, const std::string& name) { return printed(examine::fusion_report(jitted_of(f), name)); });
  m.def("kernel_source",
        [](nb::object f, const std::string& name) { return examine::kernel_source(jitted_of(f), name); });
  m.def("repro", [](nb::object f, const std::string& name, const std::string& language) {
    return examine::repro(jitted_of(f), name, repro_options(language));
  });
  m.def("repro_lines", [](nb::object f, int first, int last, bool is_backward, const std::string& language) {
    return examine::repro(jitted_of(f), first, last, is_backward ? examine::Stage::backward : examine::Stage::forward,
                          repro_options(language));
  });
  m.def("slice", &examine::slice, nb::arg("trace"), nb::arg("first"), nb::arg("last"));
  m.def("run_slice", &examine::run_slice, nb::arg("trace"), nb::arg("first"), nb::arg("last"), nb::arg("inputs"),
        nb::arg("executors") = std::vector<std::string>());
  m.def("memory", &memory, nb::arg("trace"));
  m.def("html", [](nb::object f, const std::string& title) { return examine::html(jitted_of(f), {.title = title}); });
  m.def(
      "bisect",
      [](const fg::Trace& trace, const std::vector<Tensor>& inputs,
         const std::vector<std::string>& executors) -> std::optional<std::string> {
        const auto found = examine::bisect(trace, inputs, executors);
        return found ? std::optional(printed(*found)) : std::nullopt;
      },
      nb::arg("trace"), nb::arg("inputs"), nb::arg("executors"));
  m.def("find_broken_pass", [](nb::object f) -> std::optional<std::string> {
    const auto found = examine::find_broken_pass(jitted_of(f));
    return found ? std::optional(printed(*found)) : std::nullopt;
  });
  m.def("supported", &supported, nb::arg("body"));
}

}  // namespace fulgurite_python
