#include "support/cases/operator_cases.h"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "support/context.h"
#include "support/text/text.h"

namespace fulgurite::test {

namespace {

void collect(const Value& value, std::vector<Tensor>& out) {
  if (value.is_list()) {
    for (const Value& item : value.list()) collect(item, out);
  } else if (value.is_tensor()) {
    out.push_back(value);
  }
}

Value with_tensors(const Value& value, const Tensor*& next) {
  if (value.is_tensor()) return *next++;
  if (!value.is_list()) return value;
  std::vector<Value> items;
  for (const Value& item : value.list()) items.push_back(with_tensors(item, next));
  return items;
}

// A separate generator: random cases test the library's.
class Generator {
 public:
  explicit Generator(uint64_t seed = 0) : state_(seed) {}
  void fill(const Tensor& tensor, double low, double high) {
    double* numbers = tensor.data<double>();
    for (int64_t i = 0; i < tensor.numel(); ++i) numbers[i] = low + (high - low) * next();
  }

 private:
  double next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return static_cast<double>((z ^ z >> 31) >> 11) * 0x1p-53;
  }
  uint64_t state_;
};

/// A tensor that constants() made for the case to come.
struct Drawn {
  Tensor tensor;
  double low, high;
};
std::vector<Drawn> drawn;
Generator generator;  // of these, until their case is known

// A case's elements depend on its operator and position only: a new case changes no other operator's.
void draw_again(const std::string& name, const std::vector<Tensor>& inputs) {
  static std::map<std::string, uint64_t> numbers;
  uint64_t seed = 0xcbf29ce4842305b5u + numbers[name]++;
  for (const char c : name) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  Generator own(seed);
  for (const Drawn& d : drawn)
    for (const Tensor& input : inputs)
      if (input.is_same(d.tensor)) own.fill(d.tensor.detach(), d.low, d.high);
  drawn.clear();
  generator = Generator();
}

size_t count_of(const std::vector<int64_t>& sizes) {
  size_t count = 1;
  for (const int64_t size : sizes) count *= static_cast<size_t>(size);
  return count;
}

}  // namespace

OperatorCase::OperatorCase(std::string op, std::vector<Arg> given, Keywords named) : name(std::move(op)) {
  symbol = find_symbol(name);
  if (!symbol) throw UserError("there is no operator " + name);
  for (const Arg& arg : given) args.push_back(arg.value);
  for (const auto& [key, arg] : named) kwargs[key] = arg.value;
  draw_again(name, inputs());
}

std::vector<Tensor> OperatorCase::inputs() const {
  std::vector<Tensor> out;
  for (const Value& value : args) collect(value, out);
  for (const auto& [key, value] : kwargs) collect(value, out);
  return out;
}

std::vector<Tensor> OperatorCase::run(const std::vector<Tensor>& inputs) const {
  context().generator.seed(case_seed);  // manual_seed() would break a recording
  const Tensor* next = inputs.data();
  std::vector<Value> replaced;
  std::map<std::string, Value> named;
  for (const Value& value : args) replaced.push_back(with_tensors(value, next));
  for (const auto& [key, value] : kwargs) named[key] = with_tensors(value, next);
  std::vector<Tensor> results;
  collect(call(symbol->qualified_name(), replaced, named), results);
  return results;
}

bool OperatorCase::is_differentiable() const {
  if (symbol->traits.not_differentiable) return false;
  for (const Tensor& input : inputs())
    if (input.requires_grad()) return true;
  return false;
}

const std::vector<OperatorCase>& operator_cases() {
  static const std::vector<OperatorCase> cases = [] {
    std::vector<OperatorCase> all;
    add_pointwise_cases(all);
    add_reduction_cases(all);
    add_shape_cases(all);
    add_indexing_cases(all);
    add_neural_cases(all);
    add_creation_cases(all);
    add_composition_cases(all);
    add_ordering_cases(all);
    add_linalg_cases(all);
    add_kink_cases(all);
    add_composition_kink_cases(all);
    add_window_cases(all);
    std::map<const Symbol*, int> numbers;
    for (OperatorCase& c : all)
      c.name = std::string(c.symbol->qualified_name()) + " #" + std::to_string(++numbers[c.symbol]);
    return all;
  }();
  return cases;
}

namespace {

/// The cases of a share "K/N".
std::vector<OperatorCase> every_nth_case(const char* share) {
  size_t first = 0, count = 0;
  if (std::sscanf(share, "%zu/%zu", &first, &count) != 2 || first >= count)
    throw std::runtime_error(text::cat("TEST_CASE_SHARE must be K/N with K < N, not ", share));
  std::vector<OperatorCase> chosen;
  for (size_t i = first; i < operator_cases().size(); i += count) chosen.push_back(operator_cases()[i]);
  return chosen;
}

}  // namespace

bool runs_all_cases() { return std::getenv("TEST_CASE_SHARE") == nullptr; }

const std::vector<OperatorCase>& chosen_cases() {
  if (runs_all_cases()) return operator_cases();
  static const std::vector<OperatorCase> chosen = every_nth_case(std::getenv("TEST_CASE_SHARE"));
  return chosen;
}

bool needs_case(const Symbol& symbol) {
  return !symbol.traits.structural && (symbol.traits.effects.empty() || symbol.traits.effects.has(Effect::random));
}

Tensor constants(std::vector<int64_t> sizes, double low, double high) {
  Tensor made = empty(Shape(sizes), {.dtype = Dtype::f64});
  generator.fill(made, low, high);
  drawn.push_back({made, low, high});
  return made;
}

Tensor floats(std::vector<int64_t> sizes, double low, double high) {
  return constants(std::move(sizes), low, high).requires_grad_();
}

Tensor integers(std::vector<int64_t> sizes, std::vector<int64_t> values) {
  return tensor(values).reshape(Shape(sizes));
}

Tensor booleans(std::vector<int64_t> sizes) {
  std::vector<int64_t> values(count_of(sizes));
  for (size_t i = 0; i < values.size(); ++i) values[i] = (i * i + i / 2 + 1) % 3 != 0;
  return tensor(values).reshape(Shape(sizes)).to(Dtype::boolean);
}

}  // namespace fulgurite::test
