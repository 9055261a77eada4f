#include "autograd/eager/execute_into.h"

#include "executors/registry.h"
#include "tensor/write_count.h"

namespace fulgurite {

bool execute_into(const Symbol& symbol, Arguments arguments, std::span<const Tensor> results) {
  if (innermost_interpreter()) return false;
  const Implementation* implementation = find_eager_implementation(symbol);
  if (!implementation || !implementation->kernel || (implementation->checker && !implementation->checker(arguments)))
    return false;
  for (const Tensor& result : results)
    if (!result.impl()->is_contiguous || is_inference_tensor(result)) return false;
  InferredTypes types;
  infer_types(symbol, arguments, types);
  for (size_t i = 0; i < results.size(); ++i)
    if (!(types[i].shape == results[i].shape()) || types[i].dtype != results[i].dtype()) return false;
  implementation->kernel(arguments, results);
  for (const Tensor& result : results) count_write(*result.impl()->storage);
  return true;
}

}  // namespace fulgurite
