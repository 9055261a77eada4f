#pragma once
#include <fulgurite/number.h>
#include <fulgurite/symbol.h>

namespace fulgurite {

/// The symbol that a trace records for an operation on symbolic scalars: prims.add_numbers(a, b), …
const Symbol& number_symbol(detail::NumberOperation);

}  // namespace fulgurite
