#pragma once
#include <string>

#include <fulgurite/io.h>

namespace fulgurite::cli {

/// A checksum of the data of all tensors, in hexadecimal. It does not depend on their names or order.
std::string checksum(const TensorMap& tensors);

}  // namespace fulgurite::cli
