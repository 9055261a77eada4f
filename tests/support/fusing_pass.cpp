#include "support/fusing_pass.h"

#include <memory>
#include <string>
#include <vector>

#include <fulgurite/symbol.h>

#include "ir/analysis/uses.h"
#include "support/text/text.h"

namespace fulgurite::test {

namespace {

struct FusionSymbol {
  explicit FusionSymbol(const std::string& name)
      : spelling(name + "() -> Tensor"), symbol{.signature = Signature(std::string_view(spelling))} {}
  const std::string spelling;
  const Symbol symbol;
};

// Symbols live as long as the traces that refer to them: to the end of the tests.
const Symbol* fusion_symbol(const std::string& name) {
  static std::vector<std::unique_ptr<FusionSymbol>> made;
  made.push_back(std::make_unique<FusionSymbol>(name));
  return &made.back()->symbol;
}

class Fusing {
 public:
  Fusing(const Trace& trace, const std::string& name)
      : trace_(trace), uses_(trace), name_(name), out_(without_symbols(trace)) {}

  Trace run() {
    const int count = static_cast<int>(trace_.bound_symbols.size());
    for (int first = 0; first < count;) {
      int end = first;
      while (end < count && trace_.bound_symbols[end].symbol->traits.pointwise) ++end;
      if (end - first > 1) {
        fuse(first, end);
        first = end;
      } else {
        out_.bound_symbols.push_back(trace_.bound_symbols[first++]);
      }
    }
    return std::move(out_);
  }

 private:
  void fuse(int first, int end) {
    BoundSymbol fusion;
    fusion.symbol = fusion_symbol(text::cat(name_, fusions_++));
    for (int i = first; i < end; ++i) {
      const BoundSymbol& bound = trace_.bound_symbols[i];
      for_each_argument(bound, [&](const Value& value) {
        if (!value.is_tensor()) return;
        const int producer = uses_.producer(value.tensor().id);
        bool is_known = producer >= first && producer < end;
        for (const Value& known : fusion.args) is_known = is_known || known == value;
        if (!is_known) fusion.args.push_back(value);
      });
      for_each_output(bound, [&](const Value& value) {
        if (value.is_tensor() && uses_.last_use(value.tensor().id) >= end) fusion.outputs.push_back(value);
      });
      fusion.subsymbols.push_back(bound);
    }
    out_.bound_symbols.push_back(std::move(fusion));
  }

  const Trace& trace_;
  Uses uses_;
  std::string name_;
  Trace out_;
  int fusions_ = 0;
};

Trace without_deletions(const Trace& trace) {
  Trace out = without_symbols(trace);
  for (const BoundSymbol& bound : trace.bound_symbols)
    if (bound.name() != "del" && bound.name() != "clear_collection") out.bound_symbols.push_back(bound);
  return out;
}

}  // namespace

Trace fuse_pointwise(const Trace& trace, const std::string& name) {
  const Trace plain = without_deletions(trace);
  const Trace fused = Fusing(plain, name).run();
  return plain.bound_symbols.size() == trace.bound_symbols.size() ? fused : delete_last_used(fused);
}

}  // namespace fulgurite::test
