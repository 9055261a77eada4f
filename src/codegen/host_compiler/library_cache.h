#pragma once
#include <string>

namespace fulgurite::codegen {

/// A folder of compiled libraries, one file each, named by a key. Any number of processes may use and delete it. A file
/// is opened only if the folder and the file belong to this user alone and its digest is right; other files are
/// ignored.
class LibraryCache {
 public:
  /// The folder is created when something is first stored; "" for none.
  explicit LibraryCache(std::string folder) : folder_(std::move(folder)) {}

  const std::string& folder() const { return folder_; }
  /// The path of the library with this key; empty if there is none that can be trusted, with `problem` set if there is
  /// one that cannot.
  std::string find(const std::string& key, std::string& problem) const;
  /// A path in the folder for a file to be written; empty, with `problem` set, if that is impossible.
  std::string new_file(const std::string& suffix, std::string& problem) const;
  /// Adds the digest to a finished file and renames it; empty, with `problem` set, if that fails.
  std::string store(const std::string& path, const std::string& key, std::string& problem) const;

 private:
  bool prepare(std::string& problem) const;
  std::string folder_;
};

/// FULGURITE_KERNEL_CACHE, else `fulgurite` in XDG_CACHE_HOME or ~/.cache; empty if there is no home.
std::string default_cache_folder();

}  // namespace fulgurite::codegen
