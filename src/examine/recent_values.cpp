#include "examine/recent_values.h"

#include <algorithm>
#include <map>

#include <fulgurite/symbol.h>

#include "ir/trace_values.h"

namespace fulgurite::examine {

namespace {

constexpr int64_t cache_bytes = 4 << 20;

int64_t bytes_of(const TensorProxy& proxy) {
  int64_t bytes = size_of(proxy.dtype);
  for (const Int size : proxy.shape) bytes *= size.hint();
  return bytes;
}

/// What values are views of, by name.
class Roots {
 public:
  explicit Roots(const Trace& trace) {
    for (const BoundSymbol& bound : trace.bound_symbols.read())
      if (bound.symbol->traits.view && !bound.args.empty() && bound.args.read()[0].is_tensor())
        for_each_output(bound, [&](const Value& view) { viewed_[proxy_name(view)] = proxy_name(bound.args.read()[0]); });
  }
  std::string of(std::string name) const {
    for (auto found = viewed_.find(name); found != viewed_.end(); found = viewed_.find(name)) name = found->second;
    return name;
  }

 private:
  std::map<std::string, std::string> viewed_;
};

}  // namespace

void mark_recent(const Trace& trace, int line, std::vector<FusionInput>& inputs) {
  const Roots roots(trace);
  const std::span<const BoundSymbol> lines = trace.bound_symbols.read();
  int64_t between = 0;
  std::map<std::string, int64_t> distances;
  for (int i = line; i-- > 0 && between <= cache_bytes;) {
    const BoundSymbol& bound = lines[static_cast<size_t>(i)];
    if (bound.symbol->traits.structural || bound.symbol->traits.view) continue;
    int64_t moved = 0;
    const auto touch = [&](const Value& value) {
      if (!value.is_tensor()) return;
      const int64_t bytes = bytes_of(value.tensor());
      moved += bytes;
      distances.emplace(roots.of(proxy_name(value)), between + bytes);
    };
    for_each_output(bound, touch);
    for_each_argument(bound, touch);
    between += moved;
  }
  for (FusionInput& input : inputs) {
    const auto found = distances.find(roots.of(input.name));
    input.is_recent = found != distances.end() && found->second <= cache_bytes;
  }
}

}  // namespace fulgurite::examine
