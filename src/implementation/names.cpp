#include "implementation/implementation.h"
#include "ir/printing/print_common.h"

namespace fulgurite {

std::string_view executor_name(const Implementation& implementation) { return implementation.executor; }
std::string_view kernel_text(const Implementation& implementation) {
  return implementation.fusion ? implementation.fusion->text() : std::string_view();
}

}  // namespace fulgurite
