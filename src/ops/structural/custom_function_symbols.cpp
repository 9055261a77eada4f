#include "ops/structural/custom_function_symbols.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "ops/core/dispatch.h"
#include "ops/shape/shape_rules.h"
#include "support/context.h"

namespace fulgurite {

namespace {

struct CustomSymbol {
  explicit CustomSymbol(const std::string& name)
      : spelling("autograd." + name + "() -> Tensor"),
        symbol{.signature = Signature(std::string_view(spelling)), .kind = SymbolKind::custom_function} {}
  const std::string spelling;
  const Symbol symbol;
};

// "Wrong<3>" → "Wrong_3": a valid name in a signature and in both languages.
std::string identifier_of(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool belongs = c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (belongs) out += c;
    else if (!out.empty() && out.back() != '_') out += '_';
  }
  while (out.size() > 1 && out.back() == '_') out.pop_back();
  return out.empty() ? "function" : out;
}

void infer_first(Arguments a, InferredTypes& out) {
  out.push_back({a[0].tensor().shape(), a[0].tensor().dtype(), a[0].tensor().device()});
}

}  // namespace

/// Kept until the process ends, because traces do not own their symbols.
struct CustomFunctionSymbols {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<CustomSymbol>> symbols;  // by identifier
};

const Symbol& custom_function_symbol(std::string_view name) {
  CustomFunctionSymbols& all = context().custom_functions.get();
  std::string identifier = identifier_of(name);
  const std::lock_guard lock(all.mutex);
  std::unique_ptr<CustomSymbol>& made = all.symbols[identifier];
  if (!made) made = std::make_unique<CustomSymbol>(identifier);
  return made->symbol;
}

constinit const Symbol prims_once_differentiable_symbol{
    .signature = "prims.once_differentiable(Tensor gradient, str function) -> Tensor",
    .documentation = "A gradient of a function that can be differentiated once.",
    .infer = infer_first,
    .gradient =
        [](Gradient& g) {
          const std::string message =
              text::cat("a second derivative of ", g.argument(1).string(), ", which is marked once_differentiable");
          const Tensor cotangent = g.cotangent();  // arguments are views
          const Argument arguments[] = {cotangent, std::string_view(message)};
          g.set(0, dispatch(prims_no_gradient_symbol, arguments, {}));
        },
    .view =
        [](Arguments a, ViewGeometry& view) {
          const TensorImpl& viewed = *a[0].tensor().impl();
          view = {viewed.sizes, viewed.strides, viewed.offset};
          return true;
        },
    .python = "{0}.view_as({0})",
    .kind = SymbolKind::once_differentiable,
    .traits = {.view = true},
};

constinit const Symbol prims_no_gradient_symbol{
    .signature = "prims.no_gradient(Tensor cotangent, str message) -> Tensor",
    .documentation = "An error with this text.",
    .infer = infer_first,
    .python = "no_gradient({0}, {1})",
    .python_definition =
        "def no_gradient(cotangent, message):\n"
        "  raise RuntimeError(message)\n",
    .kind = SymbolKind::refusing_gradient,
    .traits = {.not_differentiable = true},
};

}  // namespace fulgurite
