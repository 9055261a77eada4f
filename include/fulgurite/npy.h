#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <fulgurite/io.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

// Arrays of NumPy: `save_npy("x.npy", x)` is read by numpy.load, and `load_npy("x.npy")` reads what numpy.save wrote.

/// Returns the array of a .npy file (numpy.load): its shape, in row-major order, with the dtype of the file. Arrays of
/// u16 become i32, of u32 i64, and of u64 i64. Big-endian files and files in Fortran's order are read. Throws UserError
/// naming the file if it is missing, truncated or of another format, for arrays of objects, records, texts, dates and
/// complex numbers, and for u64 beyond the largest i64.
Tensor load_npy(const std::string& path);
/// The same for a file's bytes in memory.
Tensor load_npy(std::span<const std::byte> bytes);
/// Writes a .npy file as save_safetensors() writes its own: atomically. Throws UserError for bf16, which NumPy does not
/// have, and where the file cannot be written.
void save_npy(const std::string& path, const Tensor& tensor);

/// Members are given in this order.
struct NpzOptions {
  bool compressed = false;  // numpy.savez_compressed
};

/// The arrays of a .npz archive by name, "weights" for its file weights.npy (numpy.load). Throws as load_npy() does,
/// naming the archive and the array.
TensorMap load_npz(const std::string& path);
/// Only the named arrays; the others are not read. Throws UserError if one is missing.
TensorMap load_npz(const std::string& path, const std::vector<std::string>& names);
/// Writes an archive of arrays (numpy.savez), atomically. Throws UserError for names that are empty or not UTF-8.
void save_npz(const std::string& path, const TensorMap& tensors, const NpzOptions& options = {});

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
