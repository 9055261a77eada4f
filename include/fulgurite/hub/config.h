#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fulgurite/dtype.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace hub {

/// A model's config.json, or an object in it. Copies share the text. A value of another type than the one that is read
/// is a UserError that names the file and the key; null counts as absent.
class Config {
 public:
  /// Reads config.json of a folder. UserError if it is missing or not a JSON object.
  static Config read(const std::string& folder);
  /// Parses the text of a config.json; `label` names it in errors.
  explicit Config(const std::string& text, const std::string& label = "config.json");

  /// "llama", "qwen2", …; UserError if there is none.
  std::string model_type() const;
  bool has(std::string_view key) const;
  /// True for a key whose value is null, which `has` counts as absent.
  bool is_null(std::string_view key) const;
  int64_t integer(std::string_view key) const;
  int64_t integer(std::string_view key, int64_t otherwise) const;
  double number(std::string_view key, double otherwise) const;
  bool boolean(std::string_view key, bool otherwise) const;
  std::string string(std::string_view key, std::string_view otherwise) const;
  std::vector<std::string> strings(std::string_view key) const;
  /// Integers, or booleans as 0 and 1; a single integer is a list of one. Empty if the key is absent.
  std::vector<int64_t> integers(std::string_view key) const;
  /// Numbers; a single one is a list of one. Empty if the key is absent.
  std::vector<double> numbers(std::string_view key) const;
  /// True if the value is an object.
  bool is_object(std::string_view key) const;
  /// The keys of an object in this one; empty if the key is absent.
  std::vector<std::string> keys(std::string_view key) const;
  /// An object in this one; empty if the key is absent.
  Config object(std::string_view key) const;
  /// "dtype" or the older "torch_dtype": float32, bfloat16, float16, float64; none if there is neither.
  std::optional<Dtype> dtype() const;
  /// Throws UserError: the key's value is not one of those that the library has.
  [[noreturn]] void refuse(std::string_view key, std::string_view reason) const;

 private:
  struct State;
  explicit Config(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;
};

}  // namespace hub
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
