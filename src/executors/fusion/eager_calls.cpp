#include "executors/fusion/eager_calls.h"

#include "codegen/lowering/group_lowering.h"
#include "executors/registry.h"

namespace fulgurite::fuser {

bool is_one_eager_call(const BoundSymbol& bound) {
  const Implementation* const eager = find_eager_implementation(*bound.symbol);
  if (eager == nullptr || eager->checker == nullptr) return eager != nullptr;
  codegen::Shapes shapes;
  const ArgumentPack pack(bound, shapes);
  return eager->accepts(pack.arguments());
}

}  // namespace fulgurite::fuser
