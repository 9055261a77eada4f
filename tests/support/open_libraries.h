#pragma once
#include <fstream>
#include <set>
#include <string>

#include "codegen/host_compiler/library_cache.h"

namespace fulgurite::test {

/// The number of libraries of the kernel cache that are mapped into the process.
inline size_t open_libraries() {
  const std::string folder = codegen::default_cache_folder();
  std::ifstream maps("/proc/self/maps");
  std::set<std::string> found;
  for (std::string line; std::getline(maps, line);)
    if (const size_t at = line.find(folder); at != std::string::npos) found.insert(line.substr(at));
  return found.size();
}

}  // namespace fulgurite::test
