// Writes docs/operators.md from the records and the operators' test cases, or checks that it is up to date.
// usage: operator_table FILE | operator_table --check FILE
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include <fulgurite/fulgurite.h>

#include "executors/registry.h"
#include "support/cases/case_traces.h"
#include "support/cases/operator_cases.h"
#include "support/text/text.h"

namespace fulgurite::test {
namespace {

constexpr Dtype dtypes[] = {Dtype::f64, Dtype::f32, Dtype::bf16, Dtype::f16, Dtype::i64,
                            Dtype::i32, Dtype::i16, Dtype::i8,   Dtype::u8,  Dtype::boolean};
constexpr const char* all_floating = "f64 f32 bf16 f16";
constexpr const char* all_integers = "i64 i32 i16 i8 u8";

/// Returns true if the call works with its floating tensors, or all if none is, in another dtype.
bool works(const OperatorCase& c, Dtype dtype) {
  std::vector<Tensor> inputs = c.inputs();
  const bool any_floating = std::ranges::any_of(inputs, [](const Tensor& x) { return is_floating(x.dtype()); });
  for (Tensor& x : inputs)
    if (!any_floating || is_floating(x.dtype())) x = x.detach().to(dtype);
  try {
    const NoGrad no_grad;
    c.run(inputs);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

std::string dtypes_of(const std::vector<const OperatorCase*>& cases) {
  if (std::ranges::all_of(cases, [](const OperatorCase* c) { return c->inputs().empty(); })) return "by `dtype`";
  std::string out;
  for (const Dtype dtype : dtypes)
    if (std::ranges::any_of(cases, [&](const OperatorCase* c) { return works(*c, dtype); }))
      out += text::cat(out.empty() ? "" : " ", name(dtype));
  const auto shorten = [&](const char* list, const char* word) {
    if (const size_t at = out.find(list); at != std::string::npos) out.replace(at, std::string_view(list).size(), word);
  };
  shorten(all_floating, "floating");
  shorten(all_integers, "integer");
  return out;
}

std::string gradient_of(const Symbol& symbol) {
  if (symbol.traits.not_differentiable) return "none";
  if (symbol.gradient) return "own rule";
  return symbol.is_primitive() ? "none" : "of its parts";
}

/// The subsymbols of the first case that is recorded as one op.
std::string parts_of(const Symbol& symbol, const std::vector<const OperatorCase*>& cases) {
  if (symbol.is_primitive()) return symbol.traits.view ? "view" : "primitive";
  for (const OperatorCase* c : cases) {
    const Trace recorded = record_case(*c, c->inputs());
    for (const BoundSymbol& bound : recorded.bound_symbols) {
      if (bound.symbol != &symbol) continue;
      std::vector<std::string> names;
      for (const BoundSymbol& part : bound.subsymbols) {
        const std::string part_name = text::cat("`", part.symbol->name(), "`");
        if (std::ranges::find(names, part_name) == names.end()) names.push_back(part_name);
      }
      return text::join(names, [](const std::string& n) { return n; });
    }
  }
  return "its parts stand in the trace";
}

std::string executors_of(const Symbol& symbol) {
  std::string out;
  for (const Executor* executor : {&onednn_executor(), &eager_executor()})
    if (executor->find(symbol)) out += text::cat(out.empty() ? "" : ", ", executor->name);
  return out.empty() ? "by its parts" : out;
}

std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string table() {
  std::map<std::string_view, std::vector<const OperatorCase*>> cases;
  for (const OperatorCase& c : operator_cases()) cases[c.symbol->qualified_name()].push_back(&c);
  std::map<std::string, std::vector<const Symbol*>> groups;
  for (const Symbol* symbol : symbols()) {
    if (!needs_case(*symbol)) continue;
    const std::string_view qualified = symbol->qualified_name();
    groups[std::string(qualified.substr(0, qualified.rfind('.')))].push_back(symbol);
  }
  std::ostringstream out;
  out << "# Operators\n\nMade from the records and the test cases by `tools/docs operators`. Dtypes are those in "
         "which a test case of the "
         "operator runs (of the\nfloating arguments, where there are some). An operator without a kernel of its own "
         "runs by its parts.\n";
  for (auto& [group, members] : groups) {
    std::ranges::sort(members, {}, [](const Symbol* s) { return s->qualified_name(); });
    out << "\n## " << group << "\n\n| operator | | dtypes | gradient | parts | kernels |\n|---|---|---|---|---|---|\n";
    for (const Symbol* symbol : members) {
      const std::vector<const OperatorCase*>& mine = cases[symbol->qualified_name()];
      out << "| `" << cell(symbol->signature.text.substr(group.size() + 1)) << "` | " << cell(symbol->documentation)
          << " | " << dtypes_of(mine) << " | " << gradient_of(*symbol) << " | " << parts_of(*symbol, mine) << " | "
          << executors_of(*symbol) << " |\n";
    }
  }
  return out.str();
}

int main_of(const std::vector<std::string>& arguments) {
  const bool checks = arguments.size() == 2 && arguments[0] == "--check";
  if (arguments.empty() || (arguments.size() > 1 && !checks)) {
    std::fprintf(stderr, "usage: operator_table [--check] FILE\n");
    return 2;
  }
  const std::string made = table(), &path = arguments.back();
  if (checks) {
    std::ifstream file(path);
    const std::string kept{std::istreambuf_iterator<char>(file), {}};
    if (kept == made) return 0;
    std::fprintf(stderr, "%s is not what the records say; tools/docs operators BUILD_FOLDER writes it\n", path.c_str());
    return 1;
  }
  std::ofstream file(path);
  file << made;
  return file.good() ? 0 : 1;
}

}  // namespace
}  // namespace fulgurite::test

int main(int count, char** words) { return fulgurite::test::main_of({words + 1, words + count}); }
