#include <fulgurite/error.h>
#include <fulgurite/npy.h>

#include "io/atomic_file.h"
#include "io/byte_source.h"
#include "io/npy/npy_array.h"
#include "ops/core/dispatch.h"
#include "support/text/text.h"

namespace fulgurite {

namespace {

Tensor load(const ByteSource& source, std::string_view label) {
  act_immediately("load_npy()", {});
  try {
    return npy::read_array(source);
  } catch (const UserError& error) {
    throw UserError(text::cat(label, " cannot be read: ", error.what()));
  }
}

}  // namespace

Tensor load_npy(const std::string& path) { return load(*open_file(path), path); }
Tensor load_npy(std::span<const std::byte> bytes) { return load(*memory_source(bytes), "the memory given"); }

void save_npy(const std::string& path, const Tensor& tensor) {
  AtomicFile file(path);
  try {
    npy::write_array(tensor, "save_npy()", [&file](const void* data, size_t bytes) { file.write(data, bytes); });
  } catch (const UserError& error) {
    throw UserError(text::cat(path, " was not written: ", error.what()));
  }
  file.commit();
}

}  // namespace fulgurite
