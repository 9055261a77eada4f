#pragma once
#include <fulgurite/detail/requirements.h>

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <fulgurite/detail/members.h>
#include <fulgurite/fields.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

namespace fulgurite::detail {

// walk(object, visitor) describes an argument, a result or a model: its leaves in order, and their containers. All code
// that flattens arguments or names parameters uses it.
//
// A visitor has
//   void leaf(T&)                  a Tensor, number, bool, enum, string, Device
// and may have
//   void structure(size_t)         not in the leaves: the length of a vector or Shape, presence of an optional's value
//   void structure(std::string_view)  a map's key
//   void enter(std::string_view name), void enter(size_t index), void leave()     around each member
//   void node(T&)                  each aggregate and class with Fields, before its members
//   static constexpr bool may_write = true   rejects members that cannot be written

template <class T>
inline constexpr bool is_number = std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, Int> ||
                                  std::is_same_v<T, Float> || std::is_same_v<T, Bool>;
template <class T>
inline constexpr bool is_text =
    std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view> || std::is_same_v<T, const char*>;
template <class T>
inline constexpr bool is_leaf = std::is_same_v<T, Tensor> || is_number<T> || is_text<T> || std::is_same_v<T, Device>;

template <class T>
inline constexpr bool is_vector = false;
template <class T, class A>
inline constexpr bool is_vector<std::vector<T, A>> = true;
template <class T>
inline constexpr bool is_shape = std::is_same_v<T, Shape> || std::is_same_v<T, Dims>;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_string_map = false;
template <class T, class C, class A>
inline constexpr bool is_string_map<std::map<std::string, T, C, A>> = true;
template <class T>
inline constexpr bool is_tuple = false;
template <class... T>
inline constexpr bool is_tuple<std::tuple<T...>> = true;
template <class A, class B>
inline constexpr bool is_tuple<std::pair<A, B>> = true;
template <class T>
inline constexpr bool is_std_array = false;
template <class T, size_t N>
inline constexpr bool is_std_array<std::array<T, N>> = true;
template <class T>
concept HasFields = !requires {
  Fields<T>::is_not_specialised;
};

/// True for a class that can be split into its members.
template <class T>
inline constexpr bool is_plain_aggregate =
    std::is_aggregate_v<T> && !std::is_array_v<T> && !is_std_array<T> && !std::is_union_v<T>;

/// Rejects types that cannot be split, with a message; returns true if the members may be bound.
template <class T>
constexpr bool check_aggregate() {
  static_assert(!has_base_class<T>,
                "fulgurite: a class with a base class cannot be taken apart; make it a plain aggregate or specialise "
                "fulgurite::Fields for it");
  static_assert(member_count<T> <= max_members,
                "fulgurite: an aggregate of more than 32 members; group them in structures or specialise "
                "fulgurite::Fields for it");
  static_assert(member_count<T> > 0 || std::is_empty_v<T>,
                "fulgurite: an aggregate with a reference member, or with one that {} does not make; hold values, or "
                "specialise fulgurite::Fields for it");
  return !has_base_class<T> && member_count<T> > 0 && member_count<T> <= max_members;
}

template <class Visitor>
struct Part {  // calls enter and leave, if the visitor has them
  Visitor& visitor;
  template <class Where>
  Part(Visitor& v, const Where& where) : visitor(v) {
    if constexpr (requires { v.enter(where); }) v.enter(where);
  }
  ~Part() {
    if constexpr (requires { visitor.leave(); }) visitor.leave();
  }
};

template <class Visitor, class Text>
constexpr void tell_structure(Visitor& visitor, const Text& what) {
  if constexpr (requires { visitor.structure(what); }) visitor.structure(what);
}

template <class Object, class Visitor>
constexpr void walk(Object& object, Visitor& visitor);

template <class Tuple, class Visitor, size_t... I>
constexpr void walk_tuple(Tuple& tuple, Visitor& visitor, std::index_sequence<I...>) {
  [[maybe_unused]] const auto one = [&visitor](size_t index, auto& item) {
    const Part<Visitor> part(visitor, index);
    walk(item, visitor);
  };
  (one(I, std::get<I>(tuple)), ...);
}

template <class Object, class Visitor>
constexpr void walk_aggregate(Object& object, Visitor& visitor) {
  using T = std::remove_const_t<Object>;
  constexpr bool has_members = check_aggregate<T>();
  if constexpr (requires { visitor.node(object); }) visitor.node(object);
  if constexpr (has_members)
    with_members(object, [&visitor](auto&... members) {
      size_t index = 0;
      const auto one = [&](auto& member) {
        using Member = std::remove_reference_t<decltype(member)>;
        if constexpr (requires { Visitor::may_write; })
          static_assert(std::is_const_v<Object> || !std::is_const_v<Member>,
                        "fulgurite: a const member cannot be filled in; remove the const");
        if constexpr (requires { visitor.enter(std::string_view()); }) {
          const Part<Visitor> part(visitor, member_names<T>[index]);
          walk(member, visitor);
        } else {
          walk(member, visitor);
        }
        ++index;
      };
      (one(members), ...);
    });
}

template <class Object, class Visitor>
constexpr void walk(Object& object, Visitor& visitor) {
  using T = std::remove_const_t<Object>;
  if constexpr (is_leaf<T>) {
    visitor.leaf(object);
  } else if constexpr (std::is_same_v<T, std::vector<bool>>) {
    tell_structure(visitor, object.size());
    for (size_t i = 0; i < object.size(); ++i) {
      const Part<Visitor> part(visitor, i);
      const bool item = object[i];
      visitor.leaf(item);
    }
  } else if constexpr (is_vector<T> || is_shape<T>) {
    tell_structure(visitor, object.size());
    for (size_t i = 0; i < object.size(); ++i) {
      const Part<Visitor> part(visitor, i);
      walk(object[i], visitor);
    }
  } else if constexpr (is_optional<T>) {
    tell_structure(visitor, static_cast<size_t>(object.has_value()));
    if (object) walk(*object, visitor);
  } else if constexpr (is_string_map<T>) {
    tell_structure(visitor, object.size());
    for (auto& [key, item] : object) {
      tell_structure(visitor, std::string_view(key));
      const Part<Visitor> part(visitor, std::string_view(key));
      walk(item, visitor);
    }
  } else if constexpr (is_tuple<T> || is_std_array<T>) {
    walk_tuple(object, visitor, std::make_index_sequence<std::tuple_size_v<T>>());
  } else if constexpr (std::is_array_v<T>) {
    size_t index = 0;
    for (auto& item : object) {
      const Part<Visitor> part(visitor, index++);
      walk(item, visitor);
    }
  } else if constexpr (requires { Fields<T>::is_erased; }) {
    Fields<T>::walk(object, visitor);
  } else if constexpr (HasFields<T>) {
    if constexpr (requires { visitor.node(object); }) visitor.node(object);
    Fields<T>::visit(object, [&visitor](std::string_view name, auto& member) {
      const Part<Visitor> part(visitor, name);
      walk(member, visitor);
    });
  } else if constexpr (is_plain_aggregate<T>) {
    walk_aggregate(object, visitor);
  } else if constexpr (std::is_pointer_v<T>) {
    static_assert(!std::is_pointer_v<T>,
                  "fulgurite: a pointer cannot be part of an argument, a result or a model; hold the value itself");
  } else {
    static_assert(is_plain_aggregate<T>,
                  "fulgurite: this class cannot be part of an argument, a result or a model; make it an aggregate (no "
                  "constructors, private members or base classes) or specialise fulgurite::Fields for it");
  }
}

/// Visits tensors with their dotted names: "blocks.0.attention.wq".
template <class Visit>
struct NamedTensorVisitor {
  Visit& visit;
  std::string path = {};
  std::vector<size_t> lengths = {};

  void leaf(Tensor& tensor) { visit(path, tensor); }
  void leaf(const Tensor& tensor) { visit(path, tensor); }
  template <class T>
  void leaf(T&) {}
  void enter(std::string_view name) {
    lengths.push_back(path.size());
    if (!path.empty()) path += '.';
    path += name;
  }
  void enter(size_t index) { enter(std::string_view(std::to_string(index))); }
  void leave() {
    path.resize(lengths.back());
    lengths.pop_back();
  }
};
/// visit(const std::string& path, Tensor&) for every tensor in `object`.
template <class Object, class Visit>
void for_each_named_tensor(Object& object, Visit&& visit) {
  NamedTensorVisitor<std::remove_reference_t<Visit>> visitor{visit};
  walk(object, visitor);
}

}  // namespace fulgurite::detail

#include <fulgurite/detail/restore_macros.h>
