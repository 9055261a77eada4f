#pragma once
#include <map>
#include <string>

#include <fulgurite/tensor.h>

#pragma GCC visibility push(default)
namespace fulgurite {

using TensorMap = std::map<std::string, Tensor>;
using Metadata = std::map<std::string, std::string>;

/// The tensors of a safetensors file. Throws UserError, one line naming the file, for a file that is missing, cut short or not of the
/// format: header length, JSON, dtypes, shapes and offsets are all checked before anything is read.
TensorMap load_safetensors(const std::string& path);
/// The file's "__metadata__".
Metadata load_safetensors_metadata(const std::string& path);
/// Writes the file beside its place and then renames it, so `path` is at every moment the old file or the whole new one. Throws
/// UserError and leaves the old file when the disk is full.
void save_safetensors(const std::string& path, const TensorMap& tensors, const Metadata& metadata = {});

}  // namespace fulgurite
#pragma GCC visibility pop
