#pragma once
#include <span>
#include <unordered_map>

#include <fulgurite/value.h>

namespace fulgurite {

/// Returns the result of an operation on integers; throws UnlocatedError if they overflow or are divided by zero.
int64_t compute(detail::NumberOperation, int64_t a, int64_t b);
double compute(detail::NumberOperation, double a, double b);
bool compare(detail::NumberOperation, int64_t a, int64_t b);
bool compare(detail::NumberOperation, double a, double b);

/// The scalars of a trace for one set of a call's values: sizes, and bits of scalars, by NumberProxy::input.
class SymbolValues {
 public:
  explicit SymbolValues(std::span<const uint64_t> given) : given_(given) {}
  /// The values of the recorded call.
  SymbolValues() : are_hints_(true) {}

  int64_t integer(const NumberProxy&);
  double floating(const NumberProxy&);
  bool boolean(const NumberProxy& number) { return integer(number) != 0; }
  /// The value without its symbol.
  Int value(Int n) { return n.proxy() ? Int(integer(*n.proxy())) : n; }
  Float value(Float n) { return n.proxy() ? Float(floating(*n.proxy())) : n; }
  Bool value(Bool b) { return b.proxy() ? Bool(boolean(*b.proxy())) : b; }
  /// Returns true if the scalar has its value of the recorded call, bitwise.
  bool is_as_recorded(const NumberProxy&);

 private:
  struct Number {
    int64_t integer = 0;
    double floating = 0;
  };
  const Number& find(const NumberProxy&);
  Number evaluate(const NumberProxy&);

  std::span<const uint64_t> given_;
  bool are_hints_ = false;
  std::unordered_map<const NumberProxy*, Number> known_;
};

}  // namespace fulgurite
