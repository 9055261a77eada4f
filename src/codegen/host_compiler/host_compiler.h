#pragma once
#include <string>

namespace fulgurite::codegen {

/// A compiler, and an identity that distinguishes it from others and from its other versions, found without running it.
struct HostCompiler {
  std::string path, identity;  // empty: none
};
/// Returns FULGURITE_CXX, else g++, else clang++.
HostCompiler find_host_compiler();

}  // namespace fulgurite::codegen
