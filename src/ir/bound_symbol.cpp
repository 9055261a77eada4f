#include <algorithm>

#include <fulgurite/error.h>
#include <fulgurite/symbol.h>

#include "ir/trace_values.h"

namespace fulgurite {

std::string BoundSymbol::name() const { return std::string(symbol->name()); }

// A fusion's name is the one that has no namespace: its definition is printed above the function that calls it.
bool BoundSymbol::is_fusion() const {
  return symbol->qualified_name().find_first_of(".:") == std::string_view::npos && !subsymbols.empty();
}

std::vector<Value> BoundSymbol::flat_args() const {
  std::vector<Value> out;
  for_each_argument(*this, [&](const Value& value) { out.push_back(value); });
  return out;
}

std::vector<Value> BoundSymbol::flat_outs() const {
  std::vector<Value> out;
  for_each_output(*this, [&](const Value& value) { out.push_back(value); });
  return out;
}

ForwardOrigins::ForwardOrigins(std::vector<ForwardOrigin> items) {
  if (!items.empty()) items_ = std::make_shared<std::vector<ForwardOrigin>>(std::move(items));
}

const ForwardOrigin& ForwardOrigins::at(size_t i) const {
  if (i >= size()) throw InternalError("a line of the forward that is not there");
  return (*items_)[i];
}

std::vector<ForwardOrigin>& ForwardOrigins::change() {
  if (!items_) items_ = std::make_shared<std::vector<ForwardOrigin>>();
  else if (items_.use_count() > 1) items_ = std::make_shared<std::vector<ForwardOrigin>>(*items_);
  return *items_;
}

void ForwardOrigins::add(const ForwardOrigins& more) {
  if (empty()) {
    *this = more;
    return;
  }
  for (const ForwardOrigin& origin : more)
    if (std::find(begin(), end(), origin) == end()) change().push_back(origin);
}

ForwardOrigins BoundSymbol::forward_origins() const {
  ForwardOrigins out = forward;
  if (is_fusion())
    for (const BoundSymbol& fused : subsymbols) out.add(fused.forward_origins());
  return out;
}

}  // namespace fulgurite
