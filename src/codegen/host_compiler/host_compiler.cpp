#include "codegen/host_compiler/host_compiler.h"

#include <sys/stat.h>

#include "codegen/host_compiler/compiler_process.h"
#include "support/environment.h"
#include "support/text/text.h"

namespace fulgurite::codegen {

HostCompiler find_host_compiler() {
  HostCompiler found;
  if (const auto wanted = environment_value("FULGURITE_CXX")) found.path = find_program(*wanted);
  else if ((found.path = find_program("g++")).empty()) found.path = find_program("clang++");
  struct stat status;
  if (found.path.empty() || stat(found.path.c_str(), &status) != 0) return {};
  found.identity =
      text::cat(found.path, " ", static_cast<int64_t>(status.st_size), " ", static_cast<int64_t>(status.st_mtim.tv_sec),
                ".", static_cast<int64_t>(status.st_mtim.tv_nsec), " ", static_cast<int64_t>(status.st_ino));
  return found;
}

}  // namespace fulgurite::codegen
