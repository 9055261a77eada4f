// User passes that corrupt an op, found by examine::find_broken_pass; invalid traces by DebugOptions::check_traces.
#include <algorithm>
#include <random>

#include "fault_injection/fault_program.h"
#include "ir/analysis/trace_values.h"

namespace fulgurite::test {

namespace {

enum class Kind { operands, constant, symbol, drop, undefined, dtype };

struct Planted {
  Trace trace;
  std::string value;  // of the line that is to be found: what it makes
  int line = -1;      // its place
  bool is_trace = true;
};

int first_use(const Trace& trace, int id, int after) {
  const auto lines = trace.bound_symbols.read();
  for (int i = after; i < static_cast<int>(lines.size()); ++i) {
    bool uses = false;
    for_each_argument(lines[static_cast<size_t>(i)],
                      [&](const Value& value) { uses = uses || value.proxy_id() == id; });
    if (uses) return i;
  }
  return -1;
}

void replace(Trace& trace, int id, const Value& by) {
  const std::function<Value(const Value&)> replaced = [&](const Value& value) {
    if (value.is_list()) {
      std::vector<Value> items;
      for (const Value& item : value.list()) items.push_back(replaced(item));
      return Value(std::move(items));
    }
    return value.proxy_id() == id ? by : value;
  };
  for (BoundSymbol& bound : trace.bound_symbols.change()) {
    for (Value& value : bound.args.change()) value = replaced(value);
    for (auto& [name, value] : bound.kwargs.change()) value = replaced(value);
  }
}

bool is_same_type(const Value& a, const Value& b) {
  return a.is_tensor() && b.is_tensor() && a.tensor().type_text() == b.tensor().type_text();
}

Value with_dtype(const Value& value, Dtype dtype) {
  auto* proxy = new TensorProxy(value.tensor());
  proxy->dtype = dtype;
  return Value{detail::Ref<TensorProxy>(proxy)};
}

// The trace with its op corrupted; nullopt if this kind cannot be injected there.
std::optional<Planted> spoil(const Trace& given, int line, Kind kind) {
  Planted out{given, {}, line, true};
  const BoundSymbol before = given.bound_symbols.read()[static_cast<size_t>(line)];
  if (before.symbol->traits.structural || before.outputs.size() != 1 || !before.outputs.read()[0].is_tensor())
    return {};
  BoundSymbol& bound = out.trace.bound_symbols.change()[static_cast<size_t>(line)];
  bound.subsymbols = {};
  out.value = proxy_name(before.outputs.read()[0]);
  const auto args = before.args.read();
  static const std::string of_one[] = {"tanh", "sin", "cos", "sigmoid", "exp", "log", "sqrt"},
                           of_two[] = {"add", "sub"};
  switch (kind) {
    case Kind::operands:
      if (args.size() < 2 || !is_same_type(args[0], args[1]) || args[0] == args[1]) return {};
      std::swap(bound.args.change()[0], bound.args.change()[1]);
      return out;
    case Kind::constant:
      for (size_t i = 0; i < args.size(); ++i) {
        if (!args[i].is_float() || args[i].is_proxy()) continue;
        bound.args.change()[i] = Value(args[i].floating().hint() * 1.5 + 0.25);
        return out;
      }
      return {};
    case Kind::symbol:
      if (std::ranges::find(of_one, before.name()) != std::end(of_one)) {
        bound.symbol = find_symbol(before.name() == "sin" ? "cos" : "sin");
        return out;
      }
      if (std::ranges::find(of_two, before.name()) == std::end(of_two) || !before.kwargs.empty()) return {};
      bound.symbol = find_symbol(before.name() == "sub" ? "add" : "sub");
      return out;
    case Kind::drop:
    case Kind::undefined: {
      if (kind == Kind::drop && (args.empty() || !is_same_type(args[0], before.outputs.read()[0]))) return {};
      const int use = first_use(given, before.outputs.read()[0].proxy_id(), line + 1);
      if (use < 0) return {};
      const BoundSymbol& user = given.bound_symbols.read()[static_cast<size_t>(use)];
      if (user.symbol->traits.structural) return {};
      Trace dropped = given;
      dropped.bound_symbols = {};
      for (int i = 0; i < static_cast<int>(given.bound_symbols.size()); ++i)
        if (i != line) dropped.bound_symbols.push_back(given.bound_symbols.read()[static_cast<size_t>(i)]);
      if (kind == Kind::drop) replace(dropped, before.outputs.read()[0].proxy_id(), args[0]);
      for (BoundSymbol& other : dropped.bound_symbols.change())
        if (kind == Kind::drop) other.subsymbols = {};
      return Planted{dropped, proxy_name(user.outputs.read()[0]), use - 1, kind == Kind::drop};
    }
    case Kind::dtype:
      bound.outputs.change()[0] = with_dtype(before.outputs.read()[0], Dtype::f64);
      out.is_trace = false;
      return out;
  }
  return {};
}

}  // namespace

Located plant_in_pass(unsigned seed) {
  std::mt19937 random(seed);
  while (true) {
    const FaultProgram program(static_cast<unsigned>(random()) % 1000);
    const auto kind = static_cast<Kind>(random() % 6);
    const auto healthy = jit(program.function(), {.executors = {"eager"}});
    const std::vector<Tensor> right = results_of([&](std::vector<Tensor> inputs) { return healthy(inputs); }, program);
    std::optional<Planted> planted;
    const unsigned draw = static_cast<unsigned>(random());
    const Transform pass = [&](const Trace& given) {
      planted = spoil(given, static_cast<int>(draw % given.bound_symbols.size()), kind);
      return planted ? planted->trace : given;
    };
    const auto broken =
        with_transforms(jit(program.function(), {.executors = {"eager"}, .debug = {.check_traces = true}}), {pass});
    std::vector<Tensor> wrong;
    const std::string refused =
        error_of([&] { wrong = results_of([&](std::vector<Tensor> inputs) { return broken(inputs); }, program); });
    if (!planted || (refused.empty() && are_close(right, wrong))) continue;
    Located out;
    out.planted = planted->value + ", line " + std::to_string(planted->line);
    if (!refused.empty()) {
      out.report = refused;
      out.is_located = refused.find("after \"User transform\"") != std::string::npos &&
                       refused.find("symbol " + std::to_string(planted->line) + " ") != std::string::npos;
      return out;
    }
    const auto found = examine::find_broken_pass(broken, program.inputs());
    if (found)
      out.report = found->pass + ": " + found->difference.text + ": " + found->difference.value + ": " +
                   found->difference.detail;
    out.is_located = found && found->pass == "User transform" && found->difference.value == planted->value &&
                     found->difference.line == planted->line;
    return out;
  }
}

}  // namespace fulgurite::test
