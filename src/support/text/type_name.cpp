#include "support/text/type_name.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace fulgurite {

std::string short_type_name(const char* mangled) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(mangled, nullptr, nullptr, &status), std::free);
  std::string out = status == 0 ? name.get() : mangled;
  out = out.substr(0, out.find('<'));
  const size_t colon = out.rfind("::");
  return colon == std::string::npos ? out : out.substr(colon + 2);
}

}  // namespace fulgurite
