// fulgurite._core: the library for Python. What users see is in the package's Python files.
#include "bridge.h"

#include <fulgurite/version.h>

NB_MODULE(_core, m) {
  using namespace fulgurite_python;
  nb::set_leak_warnings(false);  // functions and what they recorded may live as long as the process
  m.attr("version") = FULGURITE_VERSION;
  bind_errors(m);
  bind_numbers(m);
  bind_exchange(m);
  bind_tensor(m);
  bind_operators(m);
  bind_compositions(m);
  bind_modes(m);
  bind_openmp_threads(m);
  bind_traces(m);
  bind_backward(m);
  bind_functions(m);
  bind_plain_calls(m);
  bind_guards(m);
  bind_custom_functions(m);
  bind_examine(m);
  bind_command_line(m);
}
