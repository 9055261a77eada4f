#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include <fulgurite/detail/walk.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

namespace fulgurite::nn {
class Module;
}

namespace fulgurite::detail {

/// A part that a visitor without a type is shown: a class, before its members.
struct ErasedPart {
  const std::type_info& type;
  void* object;        // of that type
  nn::Module* module;  // the same object; null unless its class is derived from Module
  bool* training;      // its member of that name; null without one
};

/// A visitor (see walk.h) without a type, for objects whose type is erased.
class PartVisitor {
 public:
  virtual void leaf(Tensor&) = 0;
  virtual void leaf(bool&) = 0;
  virtual void leaf(int64_t&) = 0;
  virtual void leaf(double&) = 0;
  virtual void leaf(Int&) = 0;
  virtual void leaf(Float&) = 0;
  virtual void leaf(Bool&) = 0;
  virtual void leaf(std::string_view&) = 0;
  virtual void leaf(Device&) = 0;
  virtual void structure(size_t) = 0;
  virtual void structure(std::string_view) = 0;
  virtual void enter(std::string_view) = 0;
  virtual void enter(size_t) = 0;
  virtual void leave() = 0;
  virtual void node(const ErasedPart&) = 0;

 protected:
  ~PartVisitor() = default;
};

/// Shows the parts of an object to a PartVisitor. Numbers other than its own types are shown as copies.
struct PartWalker {
  PartVisitor& to;
  template <class T>
  void leaf(T& constant) {
    using Value = std::remove_const_t<T>;
    auto& value = const_cast<Value&>(constant);
    if constexpr (requires { to.leaf(value); } && !is_text<Value>) {
      to.leaf(value);
    } else if constexpr (is_text<Value>) {
      std::string_view text = value;
      to.leaf(text);
    } else if constexpr (std::is_floating_point_v<Value>) {
      auto copy = static_cast<double>(value);
      to.leaf(copy);
    } else {
      auto copy = static_cast<int64_t>(value);
      to.leaf(copy);
    }
  }
  void structure(size_t count) { to.structure(count); }
  void structure(std::string_view key) { to.structure(key); }
  void enter(std::string_view name) { to.enter(name); }
  void enter(size_t index) { to.enter(index); }
  void leave() { to.leave(); }
  template <class T>
  void node(T& constant) {
    auto& object = const_cast<std::remove_const_t<T>&>(constant);
    ErasedPart part{typeid(T), &object, nullptr, nullptr};
    if constexpr (requires { object.training = true; }) part.training = &object.training;
    to.node(part);
  }
  void erased_node(const ErasedPart& part) { to.node(part); }
};

/// Shows what it sees to a visitor with a type; as constants if the walk is over a constant. The visitor's
/// erased_node(const ErasedPart&) is shown all parts, without it node() those with a member `training`.
template <class Visitor, bool is_constant>
class TypedVisitor final : public PartVisitor {
 public:
  explicit TypedVisitor(Visitor& visitor) : visitor_(visitor) {}
  void leaf(Tensor& value) override { pass(value); }
  void leaf(bool& value) override { pass(value); }
  void leaf(int64_t& value) override { pass(value); }
  void leaf(double& value) override { pass(value); }
  void leaf(Int& value) override { pass(value); }
  void leaf(Float& value) override { pass(value); }
  void leaf(Bool& value) override { pass(value); }
  void leaf(std::string_view& value) override { pass(value); }
  void leaf(Device& value) override { pass(value); }
  void structure(size_t count) override { tell_structure(visitor_, count); }
  void structure(std::string_view key) override { tell_structure(visitor_, key); }
  void enter(std::string_view name) override {
    if constexpr (requires { visitor_.enter(name); }) visitor_.enter(name);
  }
  void enter(size_t index) override {
    if constexpr (requires { visitor_.enter(index); }) visitor_.enter(index);
  }
  void leave() override {
    if constexpr (requires { visitor_.leave(); }) visitor_.leave();
  }
  void node(const ErasedPart& part) override {
    struct Node {
      bool& training;
    };
    if constexpr (requires { visitor_.erased_node(part); }) {
      visitor_.erased_node(part);
    } else if constexpr (requires(Node & node) { visitor_.node(node); }) {
      if (part.training == nullptr) return;
      Node node{*part.training};
      visitor_.node(node);
    }
  }

 private:
  template <class T>
  void pass(T& value) {
    if constexpr (is_constant) visitor_.leaf(std::as_const(value));
    else visitor_.leaf(value);
  }
  Visitor& visitor_;
};

}  // namespace fulgurite::detail

#include <fulgurite/detail/restore_macros.h>
