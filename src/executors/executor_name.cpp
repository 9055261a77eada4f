#include "executors/executor.h"
#include "ir/print_common.h"

namespace fulgurite {

std::string_view executor_name(const Implementation& implementation) { return implementation.executor; }

}  // namespace fulgurite
