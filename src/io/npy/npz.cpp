#include <zip.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include <fulgurite/error.h>
#include <fulgurite/npy.h>

#include "io/atomic_file.h"
#include "io/byte_source.h"
#include "io/npy/npy_array.h"
#include "ops/core/dispatch.h"
#include "support/text/text.h"
#include "support/text/utf8.h"

namespace fulgurite {

namespace {

constexpr std::string_view suffix = ".npy";
constexpr size_t chunk_bytes = size_t{1} << 20;

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
  void operator()(zip_source_t* source) const { zip_source_free(source); }
};
using Archive = std::unique_ptr<zip_t, Discard>;
using ArchiveFile = std::unique_ptr<zip_file_t, Discard>;
using Source = std::unique_ptr<zip_source_t, Discard>;

class Error {
 public:
  Error() { zip_error_init(&error_); }
  ~Error() { zip_error_fini(&error_); }
  Error(const Error&) = delete;
  Error& operator=(const Error&) = delete;
  zip_error_t* get() { return &error_; }
  const char* text() { return zip_error_strerror(&error_); }

 private:
  zip_error_t error_;
};

[[noreturn]] void fail(const std::string& path, std::string_view reason) {
  throw UserError(text::cat(path, " cannot be read: ", reason));
}

Archive open_archive(const std::string& path) {
  open_file(path);  // its errors are those of other files
  int code = 0;
  Archive archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (archive) return archive;
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  const std::string reason = zip_error_strerror(&error);
  zip_error_fini(&error);
  fail(path, text::cat("it is not a whole .npz archive: ", reason));
}

// The name of an array; empty for a file that holds none.
std::string array_name(std::string_view file) {
  if (file.size() <= suffix.size() || file.substr(file.size() - suffix.size()) != suffix) return "";
  return std::string(file.substr(0, file.size() - suffix.size()));
}

// Grows as the data arrive: the size that an archive declares is not trusted.
std::string unpack(zip_t* archive, zip_uint64_t index) {
  const ArchiveFile file(zip_fopen_index(archive, index, 0));
  if (!file) throw UserError(zip_strerror(archive));
  std::string out;
  while (true) {
    const size_t filled = out.size();
    out.resize(filled + chunk_bytes);
    const zip_int64_t read = zip_fread(file.get(), out.data() + filled, chunk_bytes);
    if (read < 0) throw UserError(zip_file_strerror(file.get()));
    out.resize(filled + static_cast<size_t>(read));
    if (read == 0) return out;
  }
}

Tensor read_array(zip_t* archive, zip_uint64_t index, const std::string& path, std::string_view name) {
  try {
    const std::string bytes = unpack(archive, index);
    return npy::read_array(*memory_source(std::as_bytes(std::span(bytes))));
  } catch (const UserError& error) {
    throw UserError(text::cat("array ", printable(name), " of ", path, " cannot be read: ", error.what()));
  }
}

// The arrays' indices in an archive, by name.
std::map<std::string, zip_uint64_t> arrays_of(zip_t* archive, const std::string& path) {
  std::map<std::string, zip_uint64_t> out;
  for (zip_int64_t i = 0; i < zip_get_num_entries(archive, 0); ++i) {
    const char* file = zip_get_name(archive, static_cast<zip_uint64_t>(i), ZIP_FL_ENC_GUESS);
    if (!file) fail(path, zip_strerror(archive));
    const std::string name = array_name(file);
    if (name.empty()) fail(path, text::cat("its file ", printable(file), " is not a .npy file"));
    if (!out.emplace(name, i).second) fail(path, text::cat("it has two arrays named ", printable(name)));
  }
  return out;
}

Source new_source() {
  Error error;
  Source source(zip_source_buffer_create(nullptr, 0, 0, error.get()));
  if (!source) throw UserError(error.text());
  return source;
}

void add_array(zip_t* archive, const std::string& name, const std::string& bytes, bool compressed) {
  Source source(zip_source_buffer(archive, bytes.data(), bytes.size(), 0));
  const std::string file = name + std::string(suffix);
  const zip_int64_t index = source ? zip_file_add(archive, file.c_str(), source.get(), ZIP_FL_ENC_UTF_8) : -1;
  if (index < 0) throw UserError(zip_strerror(archive));
  source.release();  // NOLINT(bugprone-unused-return-value): the archive owns it
  const auto at = static_cast<zip_uint64_t>(index);
  zip_set_file_compression(archive, at, compressed ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
  zip_file_set_dostime(archive, at, 0, 1 << 5 | 1, 0);  // the first of January 1980: equal arrays give equal files
}

// The archive's bytes are written to the source when it is closed.
void close_archive(Archive archive) {
  if (zip_close(archive.get()) != 0) throw UserError(zip_strerror(archive.get()));
  archive.release();  // NOLINT(bugprone-unused-return-value): closed
}

void write_source(zip_source_t* source, AtomicFile& file) {
  if (zip_source_open(source) != 0) throw UserError("its bytes are not there");
  std::string chunk(chunk_bytes, '\0');
  zip_int64_t read = 0;
  while ((read = zip_source_read(source, chunk.data(), chunk.size())) > 0)
    file.write(chunk.data(), static_cast<size_t>(read));
  zip_source_close(source);
  if (read < 0) throw UserError("its bytes cannot be read again");
}

void write_archive(AtomicFile& file, const TensorMap& tensors, bool compressed) {
  const Source source = new_source();
  Error error;
  zip_source_keep(source.get());
  Archive archive(zip_open_from_source(source.get(), ZIP_CREATE | ZIP_TRUNCATE, error.get()));
  if (!archive) {
    zip_source_free(source.get());
    throw UserError(error.text());
  }
  std::vector<std::string> arrays;
  arrays.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors) {
    if (name.empty() || !is_utf8(name) || name.find('\0') != std::string::npos)
      throw UserError(text::cat("\"", printable(name), "\" cannot be the name of an array"));
    std::string& bytes = arrays.emplace_back();
    npy::write_array(tensor, "save_npz()",
                     [&bytes](const void* data, size_t size) { bytes.append(static_cast<const char*>(data), size); });
    add_array(archive.get(), name, bytes, compressed);
  }
  close_archive(std::move(archive));
  write_source(source.get(), file);
}

}  // namespace

TensorMap load_npz(const std::string& path) {
  act_immediately("load_npz()", {});
  const Archive archive = open_archive(path);
  TensorMap out;
  for (const auto& [name, index] : arrays_of(archive.get(), path))
    out[name] = read_array(archive.get(), index, path, name);
  return out;
}

TensorMap load_npz(const std::string& path, const std::vector<std::string>& names) {
  act_immediately("load_npz()", {});
  const Archive archive = open_archive(path);
  const std::map<std::string, zip_uint64_t> arrays = arrays_of(archive.get(), path);
  TensorMap out;
  for (const std::string& name : names) {
    const auto found = arrays.find(name);
    if (found == arrays.end()) throw UserError(text::cat(path, " has no array \"", printable(name), "\""));
    out[name] = read_array(archive.get(), found->second, path, name);
  }
  return out;
}

void save_npz(const std::string& path, const TensorMap& tensors, const NpzOptions& options) {
  AtomicFile file(path);
  try {
    write_archive(file, tensors, options.compressed);
  } catch (const UserError& error) {
    throw UserError(text::cat(path, " was not written: ", error.what()));
  }
  file.commit();
}

}  // namespace fulgurite
