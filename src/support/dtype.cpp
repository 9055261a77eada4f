#include <fulgurite/dtype.h>

#include <charconv>
#include <ostream>

#include <fulgurite/error.h>

#include "support/text/text.h"

namespace fulgurite {

namespace {

constexpr std::string_view names[dtype_count] = {"f64", "f32", "bf16", "f16", "i64", "i32", "i16", "i8", "u8", "bool"};

Dtype promote_floating(Dtype a, Dtype b) {
  if (a == b) return a;
  if (a == Dtype::f64 || b == Dtype::f64) return Dtype::f64;
  return Dtype::f32;  // also of bf16 with f16: neither contains the other
}

Dtype promote_integers(Dtype a, Dtype b) {
  if (a == b) return a;
  // The widest signed type; u8 does not fit i8, but every wider one.
  const auto signed_rank = [](Dtype d) { return d == Dtype::u8 ? static_cast<int>(Dtype::i16) : static_cast<int>(d); };
  const int rank_a = signed_rank(a), rank_b = signed_rank(b);
  return static_cast<Dtype>(rank_a < rank_b ? rank_a : rank_b);
}

}  // namespace

std::string_view name(Dtype dtype) { return names[static_cast<int>(dtype)]; }

Dtype dtype_from_name(std::string_view text) {
  for (int i = 0; i < dtype_count; ++i)
    if (names[i] == text) return static_cast<Dtype>(i);
  throw UserError(text::cat("there is no dtype \"", text, "\"; there are ",
                            text::join(names, [](std::string_view n) { return n; })));
}

std::ostream& operator<<(std::ostream& out, Dtype dtype) { return out << name(dtype); }

Dtype promote_types(Dtype a, Dtype b) {
  if (is_floating(a) && is_floating(b)) return promote_floating(a, b);
  if (is_floating(a)) return a;
  if (is_floating(b)) return b;
  if (is_boolean(a)) return b;
  if (is_boolean(b)) return a;
  return promote_integers(a, b);
}

Device::Device(std::string_view text) {
  std::string_view rest = text;
  if (rest == "cpu") return;
  if (rest.substr(0, 4) == "cuda") {
    kind = Kind::cuda;
    rest.remove_prefix(4);
    if (rest.empty()) return;
    if (rest.size() > 1 && rest[0] == ':') {
      const auto [stop, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), index);
      if (error == std::errc() && stop == rest.data() + rest.size() && index >= 0) return;
    }
  }
  throw UserError(text::cat("there is no device \"", text, "\"; devices are written cpu, cuda or cuda:0"));
}

std::string Device::name() const { return kind == Kind::cpu ? "cpu" : text::cat("cuda:", index); }

std::ostream& operator<<(std::ostream& out, Device device) { return out << device.name(); }

}  // namespace fulgurite
