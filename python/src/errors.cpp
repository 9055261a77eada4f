#include "bridge.h"

#include <algorithm>

namespace fulgurite_python {

namespace {

nb::object make_type(nb::module_& m, const char* name, nb::handle base, const char* doc) {
  nb::dict members;
  members["__doc__"] = doc;
  members["__module__"] = "fulgurite";
  members["operation"] = "";
  members["source"] = nb::none();
  nb::object type = nb::borrow(reinterpret_cast<PyObject*>(&PyType_Type))(name, nb::make_tuple(base), members);
  m.attr(name) = type;
  return type;
}

void raise(const char* name, const std::string& message, const fg::ErrorParts& parts) {
  try {
    nb::object type = nb::module_::import_("fulgurite._core").attr(name);
    nb::object error = type(message);
    error.attr("operation") = parts.operation;
    if (parts.line > 0) error.attr("source") = nb::make_tuple(parts.file, parts.line);
    PyErr_SetObject(type.ptr(), error.ptr());
  } catch (nb::python_error& failure) {
    failure.restore();
  }
}

std::vector<std::string>& internal_folders() {
  static std::vector<std::string> folders;
  return folders;
}

bool is_internal(const std::string& file) {
  return std::ranges::any_of(internal_folders(), [&](const std::string& folder) { return file.starts_with(folder); });
}

}  // namespace

SourceLocation python_line() {
  PyFrameObject* top = PyEval_GetFrame();
  if (!top) return {"", 0};
  nb::object frame = nb::borrow(reinterpret_cast<PyObject*>(top));
  while (!frame.is_none()) {
    const std::string file = nb::cast<std::string>(frame.attr("f_code").attr("co_filename"));
    if (!is_internal(file)) return {fg::intern_file(file), nb::cast<int>(frame.attr("f_lineno"))};
    frame = frame.attr("f_back");
  }
  return {"", 0};
}

SourceLocation location_of(nb::handle at) {
  if (at.is_none()) return python_line();
  const std::string file = nb::cast<std::string>(at[0]);
  return {file.empty() ? "" : fg::intern_file(file), nb::cast<int>(at[1])};
}

void bind_errors(nb::module_& m) {
  const nb::object runtime_error = nb::borrow(PyExc_RuntimeError);
  const nb::object error =
      make_type(m, "Error", runtime_error,
                "Something in the program is wrong. `operation` names the operator, `source` is (file, line).");
  make_type(m, "Unsupported", error, "An operator, or a form of its arguments, that Fulgurite does not have.");
  make_type(m, "SharedMemory", error, "Arguments that share memory, one of which is written. Nothing has run yet.");
  make_type(m, "InternalError", runtime_error, "A fault of Fulgurite itself.");
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const fg::SharedMemoryError& error) {
      raise("SharedMemory", error.what(), fg::parts_of(error));
    } catch (const fg::UserError& error) {
      const fg::ErrorParts parts = fg::parts_of(error);
      raise(parts.is_unknown_operator ? "Unsupported" : "Error", error.what(), parts);
    } catch (const fg::InternalError& error) {
      raise("InternalError", error.what(), {});
    }
  });
  m.def("set_internal_folders", [](std::vector<std::string> folders) { internal_folders() = std::move(folders); });
  m.def("python_line", [] {
    const SourceLocation at = python_line();
    return nb::make_tuple(at.file, at.line);
  });
  m.def(
      "set_line_reader",
      [](nb::object reader) {
        if (reader.is_none()) return fg::set_source_reader({});
        PyObject* const kept = reader.release().ptr();  // as long as the process: traces may be printed until its end
        fg::set_source_reader([kept](std::string_view file, int line) -> std::optional<std::string> {
          if (!Py_IsInitialized()) return {};
          const nb::gil_scoped_acquire gil;
          try {
            const nb::object text = nb::handle(kept)(nb::str(file.data(), file.size()), line);
            if (text.is_none()) return {};
            return nb::cast<std::string>(text);
          } catch (nb::python_error&) {
            return {};
          }
        });
      },
      nb::arg("reader").none());
}

}  // namespace fulgurite_python
