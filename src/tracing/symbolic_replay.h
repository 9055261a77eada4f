#pragma once
#include <span>
#include <unordered_map>

#include <fulgurite/value.h>

namespace fulgurite {

/// The symbolic scalars of a trace in another recording: those passed by the call become `given`, by
/// NumberProxy::input, and those computed from them are recreated, by the innermost interpreter.
class SymbolicReplay {
 public:
  explicit SymbolicReplay(std::span<const Int> given) : given_(given) {}

  Int integer(const NumberProxy& number) { return find(number).integer; }
  Float floating(const NumberProxy& number) { return find(number).floating; }
  Bool boolean(const NumberProxy& number) { return find(number).boolean; }
  /// Fixes the replacement of a number that was fixed to its value.
  void fix(const NumberProxy&);

 private:
  struct Number {
    Int integer;
    Float floating;
    Bool boolean;
  };
  const Number& find(const NumberProxy&);
  Number make(const NumberProxy&);
  Int make_integer(const NumberProxy&);
  Float make_floating(const NumberProxy&);
  Bool make_boolean(const NumberProxy&);
  Float as_float(const NumberProxy&);

  std::span<const Int> given_;
  std::unordered_map<const NumberProxy*, Number> known_;
};

}  // namespace fulgurite
