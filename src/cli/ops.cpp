#include <algorithm>
#include <cstdio>

#include <fulgurite/fulgurite.h>
#include <fulgurite/symbol.h>

#include "cli/commands.h"
#include "cli/flags.h"
#include "executors/registry.h"
#include "io/json.h"
#include "ops/core/call_arguments.h"
#include "support/text/similar_names.h"
#include "support/text/text.h"

namespace fulgurite::cli {

namespace {

std::string traits_text(const Symbol& symbol) {
  // Symbols that belong to the trace itself have every effect only to keep their places.
  const Effects effects = symbol.traits.structural ? Effects() : symbol.traits.effects;
  const std::pair<bool, const char*> traits[] = {{symbol.is_primitive(), "primitive"},
                                                 {!symbol.is_primitive(), "composite"},
                                                 {symbol.gradient != nullptr, "gradient rule"},
                                                 {symbol.traits.pointwise, "pointwise"},
                                                 {symbol.traits.reduction, "reduction"},
                                                 {symbol.traits.view, "view"},
                                                 {effects.has(Effect::random), "random"},
                                                 {effects.has(Effect::memory), "writes memory"},
                                                 {effects.has(Effect::io), "input and output"},
                                                 {effects.has(Effect::collective), "collective"},
                                                 {symbol.traits.not_differentiable, "not differentiable"}};
  std::string out;
  for (const auto& [holds, text] : traits)
    if (holds) out += (out.empty() ? "" : ", ") + std::string(text);
  return out;
}

/// The origin of its gradient.
const char* gradient_text(const Symbol& symbol) {
  if (symbol.traits.not_differentiable) return "none";
  if (symbol.gradient) return "rule";
  return symbol.is_primitive() ? "none" : "parts";
}

/// The executors that implement it; otherwise it is decomposed.
std::vector<std::string> executors_of(const Symbol& symbol) {
  std::vector<std::string> out;
  for (const Executor* executor : {&onednn_executor(), &eager_executor()})
    if (executor->find(symbol)) out.push_back(executor->name);
  return out;
}

void print_json(const Symbol& symbol) {
  const std::string executors =
      text::join(executors_of(symbol), [](const std::string& name) { return json::quote(name); });
  std::printf(
      "{\"name\": %s, \"signature\": %s, \"documentation\": %s, \"traits\": %s, \"gradient\": \"%s\", \"executors\": "
      "[%s]}\n",
      json::quote(symbol.qualified_name()).c_str(), json::quote(symbol.signature.text).c_str(),
      json::quote(symbol.documentation).c_str(), json::quote(traits_text(symbol)).c_str(), gradient_text(symbol),
      executors.c_str());
}

void print(const Symbol& symbol) {
  const std::vector<std::string> executors = executors_of(symbol);
  const std::string kernels = executors.empty()
                                  ? "runs by its decomposition"
                                  : "kernels: " + text::join(executors, [](const std::string& name) { return name; });
  std::printf("%s\n  %s\n  %s\n  gradient: %s\n  %s\n", std::string(symbol.signature.text).c_str(),
              std::string(symbol.documentation).c_str(), traits_text(symbol).c_str(), gradient_text(symbol),
              kernels.c_str());
}

}  // namespace

int ops(const std::vector<std::string>& arguments) {
  std::string name;
  bool as_json = false;
  Flags flags("fulgurite ops [NAME] [--json]", {"fulgurite ops matmul"});
  flags.positional("NAME", name, "describe this operator only");
  flags.toggle("json", as_json, "one JSON object a line");
  if (!flags.parse(arguments)) return 0;
  std::vector<const Symbol*> listed;
  if (name.empty()) {
    listed = symbols();
    std::erase_if(listed, [](const Symbol* s) { return s->traits.structural; });
    std::sort(listed.begin(), listed.end(),
              [](const Symbol* a, const Symbol* b) { return a->qualified_name() < b->qualified_name(); });
  } else {
    const Symbol* symbol = find_symbol(name);
    const std::string hint = symbol ? "" : suggestion(similar_operators(name));
    if (!symbol) throw WrongUse("there is no operator " + name + (hint.empty() ? "; fulgurite ops lists them" : hint));
    listed.push_back(symbol);
  }
  for (const Symbol* symbol : listed) {
    if (as_json) {
      print_json(*symbol);
    } else if (name.empty()) {
      std::printf("%s\n", std::string(symbol->signature.text).c_str());
    } else {
      print(*symbol);
    }
  }
  return 0;
}

}  // namespace fulgurite::cli
