#pragma once
#include <string>

namespace fulgurite::codegen {

/// A folder of compiled libraries, one file each, named by a key. Any number of processes may use and delete it. A file is opened only
/// if the folder and the file are this user's alone and its digest is right; whatever else lies there is left alone.
class LibraryCache {
 public:
  /// The folder is made when something is first stored; "" for none.
  explicit LibraryCache(std::string folder) : folder_(std::move(folder)) {}

  const std::string& folder() const { return folder_; }
  /// The path of the library with this key; empty where there is none that can be trusted, and then `problem` says what is wrong with
  /// the one that is there.
  std::string find(const std::string& key, std::string& problem) const;
  /// A path in the folder for a file to be written; empty, with the problem, where there can be none.
  std::string new_file(const std::string& suffix, std::string& problem) const;
  /// Gives a finished file its digest and its name; empty, with the problem, where that fails.
  std::string store(const std::string& path, const std::string& key, std::string& problem) const;

 private:
  bool prepare(std::string& problem) const;
  std::string folder_;
};

/// FULGURITE_KERNEL_CACHE, else `fulgurite` in XDG_CACHE_HOME or ~/.cache; empty where there is no home.
std::string default_cache_folder();

}  // namespace fulgurite::codegen
