#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fulgurite/io.h>
#include <fulgurite/outside_memory.h>

namespace fulgurite::hub {

/// A safetensors file mapped into memory, privately: writes to its tensors do not reach the file.
struct MappedFile {
  std::string path;
  OutsideMemory memory;
  std::byte* bytes;
};

/// A tensor in a mapped file.
struct StoredTensor {
  std::shared_ptr<const MappedFile> file;
  SafetensorsInfo info;
  uint64_t begin;  // in the file
};

/// The tensors of a folder's safetensors files by name: of model.safetensors, or of all files that
/// model.safetensors.index.json lists. UserError naming the file if one is missing or malformed, if the index names a
/// file outside of the folder or a tensor that its file does not have, and if two files have a tensor of one name.
std::map<std::string, StoredTensor> open_checkpoint(const std::string& folder);

/// The tensor in the mapping, without a copy if it is aligned. UserError if the library does not have its dtype.
Tensor tensor_of(const std::string& name, const StoredTensor& stored);

}  // namespace fulgurite::hub
