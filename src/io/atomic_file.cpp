#include "io/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fulgurite/error.h>

#include "io/file_kind.h"
#include "support/text/text.h"

namespace fulgurite {

namespace {

constexpr int max_links = 40;                   // the kernel's limit
constexpr size_t longest_name = NAME_MAX - 40;  // leaves room for what a temporary name appends
constexpr int max_attempts = 100'000;

// "folder/" of "folder/name"; empty for a name alone.
std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

// The file that a symbolic link leads to, which need not exist; the path itself if it is not a link.
std::string behind_links(std::string path) {
  for (int i = 0; i < max_links; ++i) {
    char target[PATH_MAX];
    const ssize_t length = ::readlink(path.c_str(), target, sizeof target);
    if (length <= 0) break;
    const std::string next(target, static_cast<size_t>(length));
    path = next.front() == '/' ? std::string() : folder_of(path);
    path += next;
  }
  return path;
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  // A rename would replace any file of that name; for root even a device.
  struct stat there;
  if (::stat(path_.c_str(), &there) == 0) {
    if (!S_ISREG(there.st_mode)) fail(text::cat("it is ", kind_of_file(there.st_mode), ", not a regular file"));
    if (::faccessat(AT_FDCWD, path_.c_str(), W_OK, AT_EACCESS) != 0) fail(std::strerror(errno));
  } else if (errno != ENOENT) {
    fail(std::strerror(errno));
  }
  target_ = behind_links(path_);
  if (target_.empty() || target_.back() == '/') fail("it does not end with the name of a file");
  create_temporary();
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::fail(std::string_view reason) const {
  throw UserError(text::cat("cannot write ", path_, ": ", reason));
}

// O_EXCL gives a name to one writer among all processes, threads and machines that share the folder.
void AtomicFile::create_temporary() {
  const std::string folder = folder_of(target_);
  const std::string stem = folder + target_.substr(folder.size(), longest_name);
  for (int attempt = 0; attempt < max_attempts && descriptor_ < 0; ++attempt) {
    temporary_ = text::cat(stem, ".", ::getpid(), ".", attempt, ".part");
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno != EEXIST && errno != EINTR) break;
  }
  if (descriptor_ < 0) fail(std::strerror(errno));
}

// Copies the replaced file's mode, which may be narrower than that of new files, and its owner if this process may
// change owners.
void AtomicFile::keep_mode_of_target() {
  struct stat old, now;
  if (::stat(target_.c_str(), &old) != 0 || ::fstat(descriptor_, &now) != 0) return;
  bool same_owner = old.st_uid == now.st_uid && old.st_gid == now.st_gid;
  if (!same_owner) same_owner = ::fchown(descriptor_, old.st_uid, old.st_gid) == 0;
  const mode_t mode = old.st_mode & (same_owner ? 07777u : 0777u);
  if (::fchmod(descriptor_, mode) != 0) fail(std::strerror(errno));
}

void AtomicFile::write(const void* data, size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(descriptor_, next, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail(std::strerror(errno));
    next += written;
    bytes -= static_cast<size_t>(written);
  }
}

void AtomicFile::commit() {
  keep_mode_of_target();
  if (::fsync(descriptor_) != 0) fail(std::strerror(errno));
  if (::close(std::exchange(descriptor_, -1)) != 0 || std::rename(temporary_.c_str(), target_.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary_.c_str());
    fail(std::strerror(error));
  }
  // The new name is durable only once the folder is synced.
  const std::string folder = folder_of(target_);
  if (const int directory = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      directory >= 0) {
    ::fsync(directory);
    ::close(directory);
  }
}

void write_file(const std::string& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

}  // namespace fulgurite
