#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstddef>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

/// Tensors by name, and the texts of a file's metadata.
using TensorMap = std::map<std::string, Tensor>;
using Metadata = std::map<std::string, std::string>;

/// The description of one tensor in a safetensors file's header.
struct SafetensorsInfo {
  /// The format's name of the dtype: "F32", "U16", "F8_E4M3".
  std::string dtype;
  std::vector<int64_t> shape;
  /// The size of its data in the file.
  uint64_t bytes = 0;
  /// None if the library has no such dtype; SafetensorsFile::load_bytes() reads such a tensor.
  std::optional<Dtype> loads_as;
};

/// A safetensors file whose tensors are read one by one, in any order, any number of times; the rest of the file is not
/// read. The header is checked when the file is opened: its length, JSON, names, dtypes, shapes and offsets. The open
/// file is unaffected by another save that replaces it. Copies share the open file, and threads may read from one
/// object concurrently.
class SafetensorsFile {
 public:
  /// Throws UserError, one line naming the file, if it is missing, truncated or of another format.
  explicit SafetensorsFile(const std::string& path);
  /// Reads from memory that the caller keeps unchanged as long as this object and its copies exist.
  explicit SafetensorsFile(std::span<const std::byte> bytes);

  /// The tensors' names in the order of the header.
  const std::vector<std::string>& names() const;
  /// True if there is a tensor of this name.
  bool contains(std::string_view name) const;
  /// Throws UserError if there is no such tensor.
  const SafetensorsInfo& info(std::string_view name) const;
  /// The header's "__metadata__".
  const Metadata& metadata() const;

  /// Reads one tensor. Throws UserError if there is no such tensor or the library has no such dtype.
  Tensor load(std::string_view name) const;
  /// Reads all tensors whose dtypes the library has; see `info(name).loads_as`.
  TensorMap load_all() const;
  /// The data of a tensor of any dtype, as stored in the file: a u8 tensor of one dimension.
  Tensor load_bytes(std::string_view name) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// Returns the tensors of a safetensors file. Throws UserError, one line naming the file, if it is missing, truncated
/// or malformed: the complete header is checked before data are read. Tensors of dtypes that the library does not have
/// (U16, U32, U64, F8_E4M3, F8_E5M2, C64, …) are omitted, with a warning; SafetensorsFile lists them and reads their
/// bytes.
TensorMap load_safetensors(const std::string& path);
/// The same for a file's bytes in memory.
TensorMap load_safetensors(std::span<const std::byte> bytes);
/// The same for all remaining bytes of a stream. Throws UserError if reading fails.
TensorMap load_safetensors(std::istream& in);
/// Returns only the named tensors; the others are not read. Throws UserError if one is missing or of a dtype that the
/// library does not have.
TensorMap load_safetensors(const std::string& path, const std::vector<std::string>& names);
/// The file's "__metadata__".
Metadata load_safetensors_metadata(const std::string& path);
/// Writes a temporary file beside `path` and then renames it, so `path` is always either the old or the complete new
/// file, even with concurrent saves from threads and processes. Follows a symbolic link and keeps the mode of a
/// replaced file. Throws UserError and leaves the old file if the disk is full, if `path` is a folder, pipe or device,
/// or if the file could not be read back: names and metadata must be UTF-8, and no tensor may be called "__metadata__".
void save_safetensors(const std::string& path, const TensorMap& tensors, const Metadata& metadata = {});
/// The same bytes into a stream. Throws UserError if writing fails.
void save_safetensors(std::ostream& out, const TensorMap& tensors, const Metadata& metadata = {});

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
