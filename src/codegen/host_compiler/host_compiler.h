#pragma once
#include <string>

namespace fulgurite::codegen {

/// A compiler and what tells it from others and from later versions of itself, without running it.
struct HostCompiler {
  std::string path, identity;  // empty: there is none
};
/// FULGURITE_CXX, else g++, else clang++.
HostCompiler find_host_compiler();

}  // namespace fulgurite::codegen
