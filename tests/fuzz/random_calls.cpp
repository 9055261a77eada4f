// Calls operators with random arguments, legal and illegal ones. Each call must return results or throw UserError, and
// do the same when it is jitted. With --write, calls with results are written for PyTorch. usage: random_calls [--count
// N] [--seed N] [--only OP] [--write FOLDER]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <random>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fulgurite/fulgurite.h>

#include "support/cases/operator_cases.h"
#include "support/programs/written_records.h"
#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::test {
namespace {

class RandomCall {
 public:
  explicit RandomCall(unsigned seed) : random_(seed) {}

  const Symbol* symbol = nullptr;
  std::vector<Value> args;
  std::map<std::string, Value> kwargs;

  /// A test case with arguments changed here and there.
  void draw(const std::vector<OperatorCase>& cases) {
    const OperatorCase& c = cases[below(cases.size())];
    symbol = c.symbol;
    args = c.args;
    kwargs = c.kwargs;
    const auto parameters = symbol->signature.params();
    size_t positional = 0;
    while (positional < parameters.size() && !parameters[positional].keyword_only) ++positional;
    const size_t changed_percent = below(3) * 25;
    for (size_t i = 0; i < args.size() && i < parameters.size(); ++i)
      if (below(100) < changed_percent) args[i] = changed(args[i], parameters[i]);
    for (auto& [name, value] : kwargs)
      for (const Parameter& parameter : parameters)
        if (parameter.name == name && below(100) < changed_percent) value = changed(value, parameter);
    if (args.size() < positional && below(4) == 0) args.push_back(drawn(parameters[args.size()]));
    if (!args.empty() && below(20) == 0) args.pop_back();
  }

  std::string text() const {
    std::string out(symbol->qualified_name());
    out += "(";
    for (const Value& value : args) out += text_of(value) + ", ";
    for (const auto& [name, value] : kwargs) out += name + "=" + text_of(value) + ", ";
    return out + ")";
  }

 private:
  size_t below(size_t n) { return random_() % n; }

  static std::string text_of(const Value& value) {
    switch (value.kind()) {
      case Value::Kind::none: return "None";
      case Value::Kind::tensor: {
        const Tensor x = value;
        return text::cat(name(x.dtype()), x.shape(), x.is_contiguous() ? "" : "*");
      }
      case Value::Kind::integer: return text::cat(value.integer().hint());
      case Value::Kind::floating: return text::cat(value.floating().hint());
      case Value::Kind::boolean: return value.boolean().hint() ? "true" : "false";
      case Value::Kind::string: return "'" + value.string() + "'";
      case Value::Kind::dtype: return std::string(name(value.dtype()));
      case Value::Kind::list: {
        std::string out = "[";
        for (const Value& item : value.list()) out += text_of(item) + ", ";
        return out + "]";
      }
      default: return "?";
    }
  }

  int64_t integer() {
    constexpr int64_t extremes[] = {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(),
                                    int64_t{1} << 62, -(int64_t{1} << 40), int64_t{1} << 50};
    return below(12) == 0 ? extremes[below(std::size(extremes))] : static_cast<int64_t>(below(9)) - 3;
  }

  Dtype dtype() {
    constexpr Dtype all[] = {Dtype::f64, Dtype::f32, Dtype::bf16, Dtype::f16, Dtype::i64,
                             Dtype::i32, Dtype::i16, Dtype::i8,   Dtype::u8,  Dtype::boolean};
    return all[below(std::size(all))];
  }

  double number() {
    constexpr double unusual[] = {0, -0.0, HUGE_VAL, -HUGE_VAL, NAN, 1e300, -1e-300, 0.5, 2, -1};
    return below(3) == 0 ? unusual[below(std::size(unusual))] : static_cast<double>(below(1000)) / 250 - 2;
  }

  Tensor tensor_of(Dims sizes, Dtype of) {
    int64_t count = 1;
    for (const Int size : sizes) count *= static_cast<int64_t>(size);
    std::vector<double> numbers;
    for (int64_t i = 0; i < count; ++i)
      numbers.push_back(is_floating(of) ? number() : static_cast<double>(static_cast<int64_t>(below(7)) - 2));
    Tensor x = reshape(tensor(numbers, {.dtype = Dtype::f64}), sizes).to(of);
    return laid_out(x);
  }

  Tensor laid_out(const Tensor& x) {
    switch (below(4)) {
      case 0: return x.ndim() >= 2 ? x.transpose(0, -1).contiguous().transpose(0, -1) : x;
      case 1: return x.ndim() >= 1 ? cat({x, x}, 0)(Slice(x.size(0), {})) : x;
      default: return x;
    }
  }

  Tensor any_tensor() {
    Dims sizes;
    for (size_t d = below(5); d > 0; --d) sizes.push_back(static_cast<int64_t>(below(5)));
    return tensor_of(sizes, dtype());
  }

  Value drawn(const Parameter& parameter) {
    using Type = Parameter::Type;
    if (parameter.optional && below(3) == 0) return {};
    switch (parameter.type) {
      case Type::tensor: return any_tensor();
      case Type::operand:
        return below(2) == 0 ? Value(any_tensor()) : below(2) == 0 ? Value(number()) : Value(integer());
      case Type::tensors: {
        std::vector<Value> items;
        for (size_t n = below(4); n > 0; --n) items.emplace_back(any_tensor());
        return items;
      }
      case Type::integer: return integer();
      case Type::integers: {
        if (below(4) == 0) return integer();
        std::vector<Value> items;
        for (size_t n = below(5); n > 0; --n) items.emplace_back(integer());
        return items;
      }
      case Type::floating: return number();
      case Type::floatings: {
        std::vector<Value> items;
        for (size_t n = below(4); n > 0; --n) items.emplace_back(number());
        return items;
      }
      case Type::padding: return below(3) == 0 ? Value("same") : Value(integer());
      case Type::boolean: return below(2) == 0;
      case Type::string: return below(2) == 0 ? "mean" : "no such thing";
      case Type::dtype: return dtype();
      case Type::device: return Device();
      case Type::indices: break;
    }
    std::vector<Value> items;
    for (size_t n = below(4); n > 0; --n) {
      switch (below(5)) {
        case 0: items.emplace_back(integer()); break;
        case 1: items.emplace_back(Slice(integer(), integer(), 1 + static_cast<int64_t>(below(3)))); break;
        case 2: items.emplace_back(Ellipsis); break;
        case 3: items.emplace_back(); break;
        default: items.emplace_back(tensor_of({3}, below(2) == 0 ? Dtype::i64 : Dtype::boolean));
      }
    }
    return items;
  }

  /// A tensor of the same sizes in another dtype or layout, or with a size changed; anything else drawn anew.
  Value changed(const Value& value, const Parameter& parameter) {
    if (!value.is_tensor()) return drawn(parameter);
    const Tensor x = static_cast<Tensor>(value).detach();
    switch (below(5)) {
      case 0: return laid_out(x.to(dtype()));
      case 1: return laid_out(x);
      case 2: {
        Dims sizes = Dims(x.shape());
        if (sizes.empty()) return any_tensor();
        sizes[below(sizes.size())] = static_cast<int64_t>(below(5));
        return tensor_of(sizes, x.dtype());
      }
      case 3: return tensor_of(Dims(x.shape()), x.dtype());
      default: return any_tensor();
    }
  }

  std::mt19937 random_;
};

struct Outcome {
  std::string error;  // of a UserError
  std::vector<Tensor> results;
  bool is_fault = false;
  std::string fault;
};

std::vector<Tensor> opened(const Value& value) {
  std::vector<Tensor> out;
  if (value.is_tensor()) out.push_back(value);
  if (value.is_list())
    for (const Value& item : value.list()) out.push_back(item.is_tensor() ? Tensor(item) : Tensor());
  return out;
}

template <class Run>
Outcome outcome_of(Run run) {
  Outcome out;
  try {
    out.results = run();
  } catch (const UserError& error) {
    out.error = error.what();
  } catch (const std::exception& error) {
    out.is_fault = true;
    out.fault = error.what();
  }
  return out;
}

/// The call's tensors replaced by those of a vector, in order.
Value with_tensors(const Value& value, const std::vector<Tensor>& tensors, size_t& next) {
  if (value.is_tensor()) return Value(tensors[next++]);
  if (!value.is_list()) return value;
  std::vector<Value> items;
  for (const Value& item : value.list()) items.push_back(with_tensors(item, tensors, next));
  return items;
}

void collect(const Value& value, std::vector<Tensor>& tensors) {
  if (value.is_tensor()) tensors.push_back(value);
  if (value.is_list())
    for (const Value& item : value.list()) collect(item, tensors);
}

bool same(const Tensor& a, const Tensor& b, bool values) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  if (!values || a.numel() > 1000000) return true;  // a view of few elements, many times
  const std::vector<double> x = a.detach().to(Dtype::f64).contiguous().to_vector<double>();
  const std::vector<double> y = b.detach().to(Dtype::f64).contiguous().to_vector<double>();
  for (size_t i = 0; i < x.size(); ++i)
    if (x[i] != y[i] && !(std::isnan(x[i]) && std::isnan(y[i]))) return false;
  return true;
}

std::vector<Tensor> clones(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(t.numel() > 100000 ? t : t.clone());
  return out;
}

/// Uninitialized elements are not compared.
bool has_values(const RandomCall& drawn) { return !drawn.symbol->name().starts_with("empty"); }

/// Returns true if a trace returns results of these types.
bool gives(const Trace& trace, const std::vector<Tensor>& results) {
  const std::vector<Value> returned = trace.bound_symbols.read().back().flat_args();
  if (returned.size() != results.size()) return false;
  for (size_t i = 0; i < results.size(); ++i)
    if (returned[i].tensor().type_text() != type_text(results[i])) return false;
  return true;
}

bool is_for_pytorch(const RandomCall& drawn, const std::vector<Tensor>& results) {
  const auto is_small = [](const Tensor& t) -> bool {
    for (const Int size : t.shape())
      if (size > 100000) return false;  // PyTorch has no empty tensors of all such sizes
    return t.numel() <= 100000;
  };
  for (const Tensor& t : results)
    if (!t.defined() || !is_small(t)) return false;
  return has_values(drawn);
}

/// The problem with a call; empty if there is none. A call with results is written.
std::string check(const RandomCall& drawn, WrittenRecords* written = nullptr) {
  const NoGrad no_grad;
  const std::string_view name = drawn.symbol->qualified_name();
  manual_seed(case_seed);
  const Outcome eager = outcome_of([&] { return opened(call(name, drawn.args, drawn.kwargs)); });
  if (eager.is_fault) return text::cat("eagerly: ", eager.fault);
  std::vector<Tensor> tensors;
  for (const Value& value : drawn.args) collect(value, tensors);
  for (const auto& [key, value] : drawn.kwargs) collect(value, tensors);
  const std::vector<Tensor> given_before = written ? clones(tensors) : std::vector<Tensor>();
  const auto jitted = jit(
      [&](std::vector<Tensor> given) {
        size_t next = 0;
        std::vector<Value> args;
        for (const Value& value : drawn.args) args.push_back(with_tensors(value, given, next));
        std::map<std::string, Value> kwargs;
        for (const auto& [key, value] : drawn.kwargs) kwargs[key] = with_tensors(value, given, next);
        return opened(call(name, args, kwargs));
      },
      {.executors = {"eager"}});
  manual_seed(case_seed);
  const Outcome compiled = outcome_of([&] { return jitted(tensors); });
  if (compiled.is_fault) return text::cat("jitted: ", compiled.fault);
  // A trace cannot have values that depend on elements, and reports that.
  if (!compiled.error.empty()) {
    const bool is_limit = compiled.error.find("inside a trace") != std::string::npos;
    return eager.error.empty() && !is_limit ? text::cat("jitted alone it fails: ", compiled.error) : std::string();
  }
  // Traces do not know strides.
  if (eager.error.find("the strides do not allow a view") != std::string::npos) return {};
  if (!eager.error.empty()) return text::cat("eagerly alone it fails: ", eager.error);
  if (eager.results.size() != compiled.results.size()) return "jitted it has another number of results";
  for (size_t i = 0; i < eager.results.size(); ++i)
    if (!same(eager.results[i], compiled.results[i], has_values(drawn)))
      return text::cat("jitted its result ", i, " differs");
  if (written && is_for_pytorch(drawn, compiled.results)) {
    const Trace trace = last_traces(jitted).front();
    if (!gives(trace, compiled.results)) return {};  // a break ended it
    written->lines() << "{\"name\": " << json::quote(drawn.text()) << ", \"forward\": " << json::quote(trace.python())
                     << written->member("inputs", given_before) << written->member("outputs", compiled.results)
                     << "}\n";
  }
  return {};
}

/// The progress of a run, in memory that it shares with its parent.
struct Progress {
  size_t next = 0, wrong = 0;
};

std::string text_of_call(const std::vector<OperatorCase>& cases, unsigned seed) {
  RandomCall drawn(seed);
  drawn.draw(cases);
  return drawn.text();
}

void run_calls(const std::vector<OperatorCase>& cases, size_t count, unsigned seed, Progress& progress,
               WrittenRecords* written = nullptr) {
  for (; progress.next < count; ++progress.next) {
    RandomCall drawn(seed + static_cast<unsigned>(progress.next));
    drawn.draw(cases);
    const std::string fault = check(drawn, written);
    if (fault.empty()) continue;
    ++progress.wrong;
    std::printf("call %zu: %s\n  %s\n", seed + progress.next, drawn.text().c_str(), fault.c_str());
    std::fflush(stdout);
  }
}

int run(size_t count, unsigned seed, const std::string& only, const std::string& folder) {
  std::vector<OperatorCase> cases;
  for (const OperatorCase& c : operator_cases()) {
    if (c.no_pytorch && !folder.empty()) continue;
    if (only.empty() || c.symbol->name() == only || c.symbol->qualified_name() == only) cases.push_back(c);
  }
  if (cases.empty()) {
    std::fprintf(stderr, "random_calls: there is no operator %s\n", only.c_str());
    return 2;
  }
  if (!folder.empty()) {
    WrittenRecords written(folder, "calls");
    Progress progress;
    run_calls(cases, count, seed, progress, &written);
    written.finish();
    return progress.wrong == 0 ? 0 : 1;
  }
  auto* const progress =
      new (mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Progress;
  // In a process of its own: a call that ends it is a finding, not the end.
  while (progress->next < count) {
    const pid_t child = fork();
    if (child < 0) return 2;
    if (child == 0) {
      run_calls(cases, count, seed, *progress);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (progress->next >= count) break;
    ++progress->wrong;
    const auto at = static_cast<unsigned>(seed + progress->next);
    std::printf("call %u: %s\n  ended the process (status %d)\n", at, text_of_call(cases, at).c_str(), status);
    std::fflush(stdout);
    ++progress->next;
  }
  std::printf("%zu calls, %zu wrong\n", count, progress->wrong);
  return progress->wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace fulgurite::test

int main(int count, char** words) {
  size_t calls = 2000;
  unsigned seed = 1;
  std::string only, folder;
  for (int i = 1; i + 1 < count; i += 2) {
    if (!std::strcmp(words[i], "--count")) calls = std::strtoull(words[i + 1], nullptr, 10);
    if (!std::strcmp(words[i], "--seed")) seed = static_cast<unsigned>(std::strtoul(words[i + 1], nullptr, 10));
    if (!std::strcmp(words[i], "--only")) only = words[i + 1];
    if (!std::strcmp(words[i], "--write")) folder = words[i + 1];
  }
  return fulgurite::test::run(calls, seed, only, folder);
}
