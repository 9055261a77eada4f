#include "io/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fulgurite/error.h>

#include "support/text/text.h"

namespace fulgurite {

void AppendFile::fail(int error) const {
  throw UserError(text::cat("cannot write ", path_, ": ", std::strerror(error)));
}

void AppendFile::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

void AppendFile::open(std::string path) {
  close();
  path_ = std::move(path);
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail(errno);
}

void AppendFile::append(std::string_view text) {
  const off_t before = ::lseek(descriptor_, 0, SEEK_END);
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int error = errno;
      const bool taken_back = before < 0 || ::ftruncate(descriptor_, before) == 0;
      fail(taken_back ? error : errno);
    }
    text.remove_prefix(static_cast<size_t>(written));
  }
}

void AppendFile::sync() {
  if (::fsync(descriptor_) != 0) fail(errno);
}

}  // namespace fulgurite
