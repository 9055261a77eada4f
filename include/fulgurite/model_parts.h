#pragma once
#include <fulgurite/detail/requirements.h>

#include <memory>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>

#include <fulgurite/detail/erased_walk.h>
#include <fulgurite/error.h>
#include <fulgurite/fields.h>
#include <fulgurite/nn.h>
#include <fulgurite/sequential.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace nn {

/// Names the members of a model for its base class Module: `member("fc", fc_);`.
class Members {
 public:
  explicit Members(fulgurite::detail::PartVisitor& to) : to_(to) {}
  template <class T>
  void operator()(std::string_view name, T& part) {
    to_.enter(name);
    fulgurite::detail::PartWalker walker{to_};
    fulgurite::detail::walk(part, walker);
    to_.leave();
  }

 private:
  fulgurite::detail::PartVisitor& to_;
};

/// A base class for models with constructors, private members, base classes and virtual functions. Plain structures
/// need none. A derived class lists its members, after those of its own base class:
///
///     class Net : public nn::Module {
///      public:
///       explicit Net(int64_t width) : fc_(width, 2) {}
///       Tensor operator()(const Tensor& x) const { return fc_(x); }
///       void members(nn::Members& member) override { member("fc", fc_); }
///      private:
///       nn::Linear fc_;
///     };
///
/// Everything that accepts a model accepts such a class, a pointer to it, and a pointer to a base class of it.
class Module {
 public:
  virtual ~Module() = default;
  virtual void members(Members& member) = 0;
  /// Set by nn::train and nn::eval.
  bool training = true;

 protected:
  Module() = default;
  Module(const Module&) = default;
  Module& operator=(const Module&) = default;
};

namespace parts_detail {
template <class T>
concept ClonesItself = requires(const T& object) {
  { object.clone() } -> std::convertible_to<std::shared_ptr<T>>;
};
[[noreturn]] void refuse_clone(const char* type);

/// True while nn::clone replaces the tensors of a copy.
template <class Visitor>
bool is_cloning(Visitor& visitor) {
  using Collector = model_detail::TensorCollector;
  if constexpr (std::is_same_v<Visitor, Collector>) return true;
  else if constexpr (std::is_same_v<Visitor, fulgurite::detail::PartWalker>)
    return dynamic_cast<fulgurite::detail::TypedVisitor<Collector, false>*>(&visitor.to) != nullptr;
  else return false;
}
/// Gives the pointer an object of its own.
template <class T>
void unshare(std::shared_ptr<T>& pointer) {
  if constexpr (ClonesItself<T>) pointer = std::as_const(*pointer).clone();
  else if constexpr (std::is_copy_constructible_v<T> && (!std::is_polymorphic_v<T> || std::is_final_v<T>))
    pointer = std::make_shared<T>(std::as_const(*pointer));
  else refuse_clone(typeid(*pointer).name());
}
}  // namespace parts_detail
}  // namespace nn

/// Members of a pointer's object count as those of the pointer; a null pointer has none. nn::clone gives each shared
/// pointer an object of its own; of a polymorphic type by its `std::shared_ptr<Base> clone() const`.
template <class T>
struct Fields<std::shared_ptr<T>> {
  static constexpr bool is_erased = true;
  template <class Object, class Visitor>
  static void walk(Object& pointer, Visitor& visitor) {
    detail::tell_structure(visitor, static_cast<size_t>(pointer != nullptr));
    if (!pointer) return;
    if constexpr (!std::is_const_v<Object>)
      if (nn::parts_detail::is_cloning(visitor)) nn::parts_detail::unshare(pointer);
    if constexpr (std::is_const_v<Object>) detail::walk(std::as_const(*pointer), visitor);
    else detail::walk(*pointer, visitor);
  }
};
template <class T>
struct Fields<std::unique_ptr<T>> {
  static constexpr bool is_erased = true;
  template <class Object, class Visitor>
  static void walk(Object& pointer, Visitor& visitor) {
    detail::tell_structure(visitor, static_cast<size_t>(pointer != nullptr));
    if (!pointer) return;
    if constexpr (std::is_const_v<Object>) detail::walk(std::as_const(*pointer), visitor);
    else detail::walk(*pointer, visitor);
  }
};
/// The members of the alternative that a variant holds.
template <class... T>
struct Fields<std::variant<T...>> {
  static constexpr bool is_erased = true;
  template <class Object, class Visitor>
  static void walk(Object& variant, Visitor& visitor) {
    detail::tell_structure(visitor, variant.index());
    std::visit(
        [&visitor](auto& part) {
          if constexpr (!std::is_same_v<std::remove_const_t<std::remove_reference_t<decltype(part)>>, std::monostate>)
            detail::walk(part, visitor);
        },
        variant);
  }
};
template <std::derived_from<nn::Module> T>
struct Fields<T> {
  static constexpr bool is_erased = true;
  template <class Object, class Visitor>
  static void walk(Object& object, Visitor& visitor) {
    auto& module = const_cast<std::remove_const_t<Object>&>(object);
    detail::TypedVisitor<Visitor, std::is_const_v<Object>> typed(visitor);
    nn::Module& base = module;
    typed.node({typeid(base), dynamic_cast<void*>(&base), &base, &base.training});
    nn::Members members(typed);
    base.members(members);
  }
};

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
