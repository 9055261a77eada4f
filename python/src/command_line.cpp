// The command line, in this process.
#include "bridge.h"

// That of src/cli/main.cpp, which is compiled under this name.
int fulgurite_command_line(int count, char** values);

namespace fulgurite_python {

namespace {

int run(std::vector<std::string> arguments) {
  std::vector<char*> values;
  for (std::string& argument : arguments) values.push_back(argument.data());
  values.push_back(nullptr);
  const nb::gil_scoped_release released;
  return fulgurite_command_line(static_cast<int>(arguments.size()), values.data());
}

}  // namespace

void bind_command_line(nb::module_& m) { m.def("command_line", &run, nb::arg("arguments")); }

}  // namespace fulgurite_python
