// Errors of layers of any type.
#include <fulgurite/error.h>
#include <fulgurite/sequential.h>

#include "support/text/text.h"

namespace fulgurite::nn::layer_detail {

void refuse_empty_layer(SourceLocation at) {
  throw UserError("an AnyLayer without a layer is called: it is default-constructed or moved from", at);
}

void refuse_layer(size_t index, size_t count, SourceLocation at) {
  throw UserError(text::cat("Sequential: there is no layer ", index, "; it has ", count), at);
}

}  // namespace fulgurite::nn::layer_detail
