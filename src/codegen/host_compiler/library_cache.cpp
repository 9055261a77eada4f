#include "codegen/host_compiler/library_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "support/base/sha256.h"
#include "support/context.h"
#include "support/environment.h"
#include "support/text/text.h"

namespace fulgurite::codegen {

namespace {

// The end of each file, which the loader ignores: a mark, and the digest of the key and everything before the mark.
constexpr std::string_view mark = "fulgurite kernel ";
constexpr size_t digest_digits = 64;

/// A file descriptor that is closed on destruction.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

bool read_all(int file, size_t size, std::string& out) {
  out.resize(size);
  for (size_t done = 0; done < size;) {
    const ssize_t count = read(file, out.data() + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

std::string because(std::string_view what, const std::string& path) {
  return text::cat(what, " ", path, ": ", std::strerror(errno));
}

// Owned by this user, and not writable by others.
bool is_private(const struct stat& status) {
  return status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool make_folders(const std::string& path) {
  for (size_t at = 1; at <= path.size(); ++at) {
    if (at != path.size() && path[at] != '/') continue;
    if (mkdir(path.substr(0, at).c_str(), 0700) != 0 && errno != EEXIST) return false;
  }
  return true;
}

std::string digest_of(const std::string& key, std::string_view library) {
  return sha256(text::cat(key, "\n", sha256(library)));
}

}  // namespace

std::string default_cache_folder() {
  if (const auto folder = environment_value("FULGURITE_KERNEL_CACHE")) return *folder;
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return text::cat(cache, "/fulgurite");
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? text::cat(home, "/.cache/fulgurite") : std::string();
}

bool LibraryCache::prepare(std::string& problem) const {
  if (folder_.empty()) {
    problem = "there is no folder for compiled kernels";
    return false;
  }
  struct stat status;
  if (stat(folder_.c_str(), &status) != 0) {
    if (!make_folders(folder_) || stat(folder_.c_str(), &status) != 0) {
      problem = because("cannot make", folder_);
      return false;
    }
  }
  if (!S_ISDIR(status.st_mode) || !is_private(status)) {
    problem = text::cat(folder_, " is not a folder that only this user can write");
    return false;
  }
  return true;
}

std::string LibraryCache::find(const std::string& key, std::string& problem) const {
  struct stat status;
  if (folder_.empty() || stat(folder_.c_str(), &status) != 0) return {};
  if (!prepare(problem)) return {};
  std::string path = text::cat(folder_, "/", key, ".so");
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (file.get() < 0) {
    if (errno != ENOENT) problem = because("cannot read", path);
    return {};
  }
  std::string content;
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || !is_private(status)) {
    problem = text::cat(path, " is not a file that only this user can write");
    return {};
  }
  const size_t end = mark.size() + digest_digits;
  if (!read_all(file.get(), static_cast<size_t>(status.st_size), content)) {
    problem = because("cannot read", path);
    return {};
  }
  const std::string_view all = content;
  const bool is_whole = all.size() > end && all.substr(all.size() - end, mark.size()) == mark &&
                        all.substr(all.size() - digest_digits) == digest_of(key, all.substr(0, all.size() - end));
  if (!is_whole) {
    problem = text::cat(path, " is damaged");
    return {};
  }
  return path;
}

std::string LibraryCache::new_file(const std::string& suffix, std::string& problem) const {
  if (!prepare(problem)) return {};
  std::string path = text::cat(folder_, "/new-", getpid(), "-", context().new_files.fetch_add(1), suffix);
  unlink(path.c_str());  // of an earlier process with the same number
  const File file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file.get() < 0) {
    problem = because("cannot write", path);
    return {};
  }
  return path;
}

std::string LibraryCache::store(const std::string& path, const std::string& key, std::string& problem) const {
  std::string content;
  {
    const File file(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    struct stat status;
    if (file.get() < 0 || fstat(file.get(), &status) != 0 ||
        !read_all(file.get(), static_cast<size_t>(status.st_size), content) ||
        !write_all(file.get(), text::cat(mark, digest_of(key, content)))) {
      problem = because("cannot write", path);
      return {};
    }
    if (fchmod(file.get(), 0600) != 0) {
      problem = because("cannot write", path);
      return {};
    }
  }
  std::string final_path = text::cat(folder_, "/", key, ".so");
  if (rename(path.c_str(), final_path.c_str()) != 0) {
    problem = because("cannot write", final_path);
    return {};
  }
  return final_path;
}

}  // namespace fulgurite::codegen
