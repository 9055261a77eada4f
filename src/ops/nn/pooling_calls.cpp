#include "ops/nn/pooling_calls.h"

#include "ops/generated/symbols.h"

namespace fulgurite {
namespace {

struct WithIndices {
  const Symbol *values, *both;
  size_t place;  // of return_indices among the arguments
};
constexpr WithIndices pools[] = {
    {&max_pool1d_symbol, &max_pool1d_with_indices_symbol, 6},
    {&max_pool2d_symbol, &max_pool2d_with_indices_symbol, 6},
    {&max_pool3d_symbol, &max_pool3d_with_indices_symbol, 6},
    {&adaptive_max_pool1d_symbol, &adaptive_max_pool1d_with_indices_symbol, 2},
    {&adaptive_max_pool2d_symbol, &adaptive_max_pool2d_with_indices_symbol, 2},
    {&adaptive_max_pool3d_symbol, &adaptive_max_pool3d_with_indices_symbol, 2},
};

bool is_adaptive(const Symbol* symbol) { return symbol->name().starts_with("adaptive_"); }

void fill_in_sizes(Value& sizes) {
  if (!sizes.is_list()) return;
  std::vector<Value> items = sizes.list();
  for (Value& item : items)
    if (item.is_none()) item = Value(-1);
  sizes = Value(items);
}

}  // namespace

const Symbol* translate_pooling(const Symbol* symbol, std::vector<Value>& args, std::map<std::string, Value>& kwargs) {
  if (is_adaptive(symbol)) {
    if (args.size() > 1) fill_in_sizes(args[1]);
    if (const auto named = kwargs.find("output_size"); named != kwargs.end()) fill_in_sizes(named->second);
  }
  for (const WithIndices& pool : pools) {
    if (symbol != pool.values && symbol != pool.both) continue;
    bool both = symbol == pool.both;
    if (const auto named = kwargs.find("return_indices"); named != kwargs.end() && named->second.is_bool()) {
      both = both || named->second.boolean();
      kwargs.erase(named);
    } else if (args.size() == pool.place + 1 && args.back().is_bool()) {
      both = both || args.back().boolean();
      args.pop_back();
    }
    return both ? pool.both : pool.values;
  }
  return symbol;
}

}  // namespace fulgurite
