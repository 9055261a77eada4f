#pragma once
#include <string>

namespace fulgurite {

/// A class's name without namespaces and template arguments, of std::type_info::name().
std::string short_type_name(const char* mangled);

}  // namespace fulgurite
