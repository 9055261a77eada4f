#pragma once
#include <span>
#include <unordered_map>

#include <fulgurite/value.h>

namespace fulgurite {

/// What an operation on numbers gives; an UnplacedError for integers that overflow or are divided by zero.
int64_t compute(detail::NumberOperation, int64_t a, int64_t b);
double compute(detail::NumberOperation, double a, double b);
bool compare(detail::NumberOperation, int64_t a, int64_t b);
bool compare(detail::NumberOperation, double a, double b);

/// The numbers of a trace for one set of what a call gives: sizes, and bits of numbers, by NumberProxy::input.
class SymbolValues {
 public:
  explicit SymbolValues(std::span<const uint64_t> given) : given_(given) {}
  /// Those of the call that was recorded.
  SymbolValues() : are_hints_(true) {}

  int64_t integer(const NumberProxy&);
  double floating(const NumberProxy&);
  bool boolean(const NumberProxy& number) { return integer(number) != 0; }
  /// Without its symbol.
  Int value(Int n) { return n.proxy() ? Int(integer(*n.proxy())) : n; }
  Float value(Float n) { return n.proxy() ? Float(floating(*n.proxy())) : n; }
  Bool value(Bool b) { return b.proxy() ? Bool(boolean(*b.proxy())) : b; }
  /// Whether the number has the value it had in the call that was recorded, to the bit.
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
