#include "executors/fuser/eager_calls.h"

#include "codegen/region_lowering.h"
#include "executors/executor.h"

namespace fulgurite::fuser {

bool is_one_eager_call(const BoundSymbol& bound) {
  const Implementation* const eager = find_eager_implementation(*bound.symbol);
  if (eager == nullptr || eager->checker == nullptr) return eager != nullptr;
  codegen::Shapes shapes;
  const ArgumentPack pack(bound, shapes);
  return eager->accepts(pack.arguments());
}

}  // namespace fulgurite::fuser
