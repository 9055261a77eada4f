#pragma once
#include <fulgurite/detail/requirements.h>

#include <fulgurite/detail/hide_macros.h>

namespace fulgurite {

/// Makes a class that is not an aggregate usable in arguments, results and models: specialize this and list its
/// members.
///
///   template <>
///   struct fulgurite::Fields<Linear> {
///     static void visit(auto& object, auto&& member) {
///       member("weight", object.weight);
///       member("bias", object.bias);
///     }
///   };
///
/// Aggregates, containers and tuples need none.
template <class T>
struct Fields {
  static constexpr bool is_not_specialised = true;
};

}  // namespace fulgurite

#include <fulgurite/detail/restore_macros.h>
