#pragma once
#include <functional>
#include <string>

#include <fulgurite/tensor.h>

#include "io/byte_source.h"

namespace fulgurite::npy {

/// The array in a .npy file's bytes. Throws UserError without the file's name.
Tensor read_array(const ByteSource& source);
/// The header and the elements of a tensor, in that order, given to `write`. Reading the elements causes a graph break
/// while tracing; `function` is the caller's name in its reason.
void write_array(const Tensor& tensor, const char* function,
                 const std::function<void(const void* data, size_t bytes)>& write);

}  // namespace fulgurite::npy
