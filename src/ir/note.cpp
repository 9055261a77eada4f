#include "ir/note.h"

#include <fulgurite/symbol.h>

namespace fulgurite {

namespace {

constinit const Symbol note_symbol{
    .signature = "prims.note() -> ()",
    .documentation = "Text above the next line of a printed trace.",
    .kind = SymbolKind::note,
    .traits = {.effects = Effects::all(), .structural = true},
};

}  // namespace

BoundSymbol note_line(const std::string& text) {
  BoundSymbol line;
  line.symbol = &note_symbol;
  line.args.push_back(Value(text));
  return line;
}

}  // namespace fulgurite
