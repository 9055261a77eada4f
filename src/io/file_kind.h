#pragma once
#include <sys/stat.h>

#include <string>
#include <string_view>

namespace fulgurite {

/// "a folder", "a pipe", "a device", …: for errors about files that are not regular.
std::string_view kind_of_file(mode_t mode);

/// Returns a sentence for a file that is recognizably of another kind than safetensors (a Git LFS pointer, a web page,
/// a PyTorch checkpoint, an archive, …): its kind and the remedy. Empty if `start`, the file's first bytes, is none of
/// these.
std::string describe_foreign_file(std::string_view start);

}  // namespace fulgurite
