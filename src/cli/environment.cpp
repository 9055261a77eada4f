#include "support/environment.h"

#include <cstdio>

#include "cli/commands.h"
#include "support/text/text.h"

namespace fulgurite::cli {

void print_environment() {
  std::string out =
      "# Environment variables\n\n"
      "The library reads these and no others. A variable whose name begins with `FULGURITE_` and that is not listed "
      "has no effect and is\n"
      "named once on stderr. Unset and empty mean the same.\n\n"
      "| name | meaning | when unset |\n| --- | --- | --- |\n";
  for (const EnvironmentVariable& variable : environment_variables())
    out += text::cat("| `", variable.name, "` | ", variable.meaning, " | ", variable.default_text, " |\n");
  out += "\nThis file is the output of `fulgurite --environment`.\n";
  std::fputs(out.c_str(), stdout);
}

}  // namespace fulgurite::cli
