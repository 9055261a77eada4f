#include <fulgurite/error.h>

#include "cli/commands.h"

namespace fulgurite::cli {

// Builds without the HTTP library have this command instead of the others' files in this folder.
int serve(const std::vector<std::string>&) {
  throw UserError("serve: this build of fulgurite has no HTTP server; build it with -DFULGURITE_SERVER=ON");
}

}  // namespace fulgurite::cli
