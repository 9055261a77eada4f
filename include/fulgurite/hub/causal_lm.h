#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include <fulgurite/detail/walk.h>
#include <fulgurite/fields.h>
#include <fulgurite/hub/checkpoint.h>
#include <fulgurite/models/gemma.h>
#include <fulgurite/models/gpt2.h>
#include <fulgurite/models/llama.h>
#include <fulgurite/models/phi.h>
#include <fulgurite/models/phi3.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace hub {

/// A language model of any family that the library has. Its tensors have the names of the model in it.
struct CausalLM {
  std::variant<models::Llama, models::Gpt2, models::Gemma, models::Phi, models::Phi3> model;

  /// Maps tokens [batch, length] to the scores of each one's successor: [batch, length, vocabulary].
  Tensor operator()(const Tensor& tokens) const {
    return std::visit([&](const auto& any) { return any(tokens); }, model);
  }
  /// As models::Llama::step.
  Tensor step(const Tensor& tokens, const Tensor& positions, const Tensor& rows,
              const models::KeyValueCache& cache) const {
    return std::visit([&](const auto& any) { return any.step(tokens, positions, rows, cache); }, model);
  }
  /// The most tokens of a text; 0 if the model has no limit.
  int64_t max_length() const {
    return std::visit(
        [](const auto& any) -> int64_t {
          if constexpr (requires { any.max_length(); }) return any.max_length();
          else return 0;
        },
        model);
  }
  /// As models::Llama::long_length.
  int64_t long_length() const {
    return std::visit(
        [](const auto& any) -> int64_t {
          if constexpr (requires { any.long_length(); }) return any.long_length();
          else return 0;
        },
        model);
  }
  /// The mean cross entropy of predicting `targets` [batch, length]; those of -100 do not count.
  Tensor loss(const Tensor& tokens, const Tensor& targets) const {
    return std::visit([&](const auto& any) { return any.loss(tokens, targets); }, model);
  }
  static bool is_in_files(std::string_view name) { return models::Llama::is_in_files(name); }
};

/// A cache with room for `capacity` positions of each text, for `CausalLM::step`.
inline models::KeyValueCache make_cache(const CausalLM& model, int64_t capacity, int64_t batch = 1) {
  return std::visit([&](const auto& any) { return make_cache(any, capacity, batch); }, model.model);
}

/// Loads a language model of the family that the folder's config.json names. UserError if the library does not have it.
CausalLM load_causal_lm(const std::string& folder, const LoadOptions& options = {});

}  // namespace hub

template <>
struct Fields<hub::CausalLM> {
  static constexpr bool is_erased = true;  // the members depend on the family
  template <class Object, class Visitor>
  static void walk(Object& object, Visitor& visitor) {
    detail::tell_structure(visitor, object.model.index());
    std::visit([&visitor](auto& model) { detail::walk(model, visitor); }, object.model);
  }
};

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
