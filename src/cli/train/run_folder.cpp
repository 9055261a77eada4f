#include "cli/train/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fulgurite/error.h>

namespace fulgurite::cli {

namespace {

namespace fs = std::filesystem;

void remove_unfinished(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (entry->path().extension() == ".part" && entry->is_regular_file(ignored)) fs::remove(entry->path(), ignored);
  }
}

}  // namespace

RunFolder::~RunFolder() {
  if (lock_ >= 0) ::close(lock_);
}

void RunFolder::open(const std::string& path, const std::string& checkpoints) {
  const std::string inner = checkpoints.empty() ? path : path + "/" + checkpoints;
  std::error_code error;
  fs::create_directories(inner, error);
  if (error) throw UserError("cannot make the folder " + inner + ": " + error.message());
  lock_ = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ < 0) throw UserError("cannot open the folder " + path + ": " + std::strerror(errno));
  // The kernel releases the lock when the process ends, however it ends. File systems without locks go without.
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw UserError("another run is training in " + path);
  remove_unfinished(path);
  if (inner != path) remove_unfinished(inner);
}

}  // namespace fulgurite::cli
