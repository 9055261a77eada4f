#pragma once
#include <fulgurite/detail/requirements.h>

#include <string>

#include <fulgurite/trace.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

/// The Python form of one line, its subsymbols below it as comments.
std::string python(const BoundSymbol&, PrintOptions = {});
/// A proxy's name, or a constant as Python writes it.
std::string python_value(const Value&);

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
