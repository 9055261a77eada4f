#pragma once
#include <fulgurite/detail/requirements.h>

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fulgurite/detail/hide_macros.h>

namespace fulgurite::detail {

// Compile-time reflection of an aggregate: the number of its members, references to them, and their names.

inline constexpr int max_members = 32;

/// Converts only to the base classes of T: an aggregate that can be initialized from one has a base class.
template <class T>
struct BaseOf {
  template <class U>
  requires(std::is_base_of_v<U, T> && !std::is_same_v<U, T>) operator U() const;
};
template <class T>
inline constexpr bool has_base_class = requires {
  T{BaseOf<T>{}};
};

/// Returns true if T can be initialized from N empty braces, one per member. `{}` has no type, so greedy constructors
/// do not match it.
template <class T, int N>
constexpr bool takes_braces() {
  if constexpr (N == 1) return requires {
      T{{}};
    };
  else if constexpr (N == 2) return requires {
      T{{}, {}};
    };
  else if constexpr (N == 3) return requires {
      T{{}, {}, {}};
    };
  else if constexpr (N == 4) return requires {
      T{{}, {}, {}, {}};
    };
  else if constexpr (N == 5) return requires {
      T{{}, {}, {}, {}, {}};
    };
  else if constexpr (N == 6) return requires {
      T{{}, {}, {}, {}, {}, {}};
    };
  else if constexpr (N == 7) return requires {
      T{{}, {}, {}, {}, {}, {}, {}};
    };
  else if constexpr (N == 8) return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}};
    };
  else if constexpr (N == 9) return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}};
    };
  else if constexpr (N == 10) return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    };
  else if constexpr (N == 11) return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    };
  else if constexpr (N == 12) return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    };
  else if constexpr (N == 13) return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    };
  else if constexpr (N == 14) return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    };
  else if constexpr (N == 15) return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    };
  else if constexpr (N == 16) return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    };
  else if constexpr (N == 17) return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    };
  else if constexpr (N == 18) return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    };
  else if constexpr (N == 19) return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    };
  else if constexpr (N == 20) return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    };
  else if constexpr (N == 21) return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    };
  else if constexpr (N == 22) return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    };
  else if constexpr (N == 23) return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    };
  else if constexpr (N == 24) return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    };
  else if constexpr (N == 25) return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    };
  else if constexpr (N == 26) return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    };
  else if constexpr (N == 27) return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    };
  else if constexpr (N == 28) return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    };
  else if constexpr (N == 29) return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    };
  else if constexpr (N == 30) return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    };
  else if constexpr (N == 31) return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    };
  else if constexpr (N == 32) return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    };
  else if constexpr (N == 33) return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
        {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    };
  else return false;
}

template <class T, int N = 0>
constexpr int count_members() {
  if constexpr (N <= max_members && takes_braces<T, N + 1>()) return count_members<T, N + 1>();
  else return N;
}
/// max_members + 1 if there are more.
template <class T>
inline constexpr int member_count = count_members<std::remove_const_t<T>>();

/// Calls visit(member...) with references to all members, const if the object is.
template <class T, class Visit>
constexpr decltype(auto) with_members(T& object, Visit&& visit) {
  constexpr int members = member_count<T>;
  if constexpr (members == 0) {
    return visit();
  } else if constexpr (members == 1) {
    auto& [m0] = object;
    return visit(m0);
  } else if constexpr (members == 2) {
    auto& [m0, m1] = object;
    return visit(m0, m1);
  } else if constexpr (members == 3) {
    auto& [m0, m1, m2] = object;
    return visit(m0, m1, m2);
  } else if constexpr (members == 4) {
    auto& [m0, m1, m2, m3] = object;
    return visit(m0, m1, m2, m3);
  } else if constexpr (members == 5) {
    auto& [m0, m1, m2, m3, m4] = object;
    return visit(m0, m1, m2, m3, m4);
  } else if constexpr (members == 6) {
    auto& [m0, m1, m2, m3, m4, m5] = object;
    return visit(m0, m1, m2, m3, m4, m5);
  } else if constexpr (members == 7) {
    auto& [m0, m1, m2, m3, m4, m5, m6] = object;
    return visit(m0, m1, m2, m3, m4, m5, m6);
  } else if constexpr (members == 8) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7] = object;
    return visit(m0, m1, m2, m3, m4, m5, m6, m7);
  } else if constexpr (members == 9) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8] = object;
    return visit(m0, m1, m2, m3, m4, m5, m6, m7, m8);
  } else if constexpr (members == 10) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9] = object;
    return visit(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9);
  } else if constexpr (members == 11) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10] = object;
    return visit(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10);
  } else if constexpr (members == 12) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11] = object;
    return visit(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11);
  } else if constexpr (members == 13) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12] = object;
    return visit(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12);
  } else if constexpr (members == 14) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13] = object;
    return visit(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13);
  } else if constexpr (members == 15) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14] = object;
    return visit(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14);
  } else if constexpr (members == 16) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15] = object;
    return visit(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15);
  } else if constexpr (members == 17) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16] = object;
    return visit(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16);
  } else if constexpr (members == 18) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17] = object;
    return visit(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17);
  } else if constexpr (members == 19) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18] = object;
    return visit(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18);
  } else if constexpr (members == 20) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19] = object;
    return visit(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19);
  } else if constexpr (members == 21) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20] = object;
    return visit(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20);
  } else if constexpr (members == 22) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21] = object;
    return visit(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21);
  } else if constexpr (members == 23) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22] =
        object;
    return visit(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21,
                 m22);
  } else if constexpr (members == 24) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22,
           m23] = object;
    return visit(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21,
                 m22, m23);
  } else if constexpr (members == 25) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
           m24] = object;
    return visit(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21,
                 m22, m23, m24);
  } else if constexpr (members == 26) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
           m24, m25] = object;
    return visit(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21,
                 m22, m23, m24, m25);
  } else if constexpr (members == 27) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
           m24, m25, m26] = object;
    return visit(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21,
                 m22, m23, m24, m25, m26);
  } else if constexpr (members == 28) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
           m24, m25, m26, m27] = object;
    return visit(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21,
                 m22, m23, m24, m25, m26, m27);
  } else if constexpr (members == 29) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
           m24, m25, m26, m27, m28] = object;
    return visit(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21,
                 m22, m23, m24, m25, m26, m27, m28);
  } else if constexpr (members == 30) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
           m24, m25, m26, m27, m28, m29] = object;
    return visit(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21,
                 m22, m23, m24, m25, m26, m27, m28, m29);
  } else if constexpr (members == 31) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
           m24, m25, m26, m27, m28, m29, m30] = object;
    return visit(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21,
                 m22, m23, m24, m25, m26, m27, m28, m29, m30);
  } else if constexpr (members == 32) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
           m24, m25, m26, m27, m28, m29, m30, m31] = object;
    return visit(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21,
                 m22, m23, m24, m25, m26, m27, m28, m29, m30, m31);
  }
}

// Names: extracted from the text of a function whose template argument is the address of a member of an object that is
// never defined.
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#pragma clang diagnostic ignored "-Wundefined-internal"
#endif
template <class T>
struct NeverDefinedHolder {
  T value;
};
template <class T>
extern const NeverDefinedHolder<T> never_defined;

/// clang 14 accepts a member's address as a template argument only inside a class.
template <class T>
struct MemberAddress {
  const T* address;
};
template <class T>
MemberAddress(const T*) -> MemberAddress<T>;

template <auto Member>
constexpr auto text_with_member() {  // returns auto, or g++ appends its return type to the text
  return std::string_view(__PRETTY_FUNCTION__);
}
template <class T, size_t I>
constexpr auto address_of_member() {
  return with_members(never_defined<T>.value, [](const auto&... members) {
    const auto pick = [](auto& self, auto index, const auto& first, const auto&... rest) {
      if constexpr (index() == 0) return &first;
      else return self(self, std::integral_constant<size_t, index() - 1>(), rest...);
    };
    return pick(pick, std::integral_constant<size_t, I>(), members...);
  });
}
template <class T, size_t I>
constexpr std::string_view name_of_member() {
#if defined(__clang__)
  constexpr std::string_view text = text_with_member<MemberAddress{address_of_member<T, I>()}>();
#else
  constexpr std::string_view text = text_with_member<address_of_member<T, I>()>();
#endif
  constexpr size_t end = text.find_last_not_of(")}]");
  constexpr size_t before = text.find_last_of(".:", end);
  return text.substr(before + 1, end - before);
}
template <class T, size_t... I>
constexpr auto make_member_names(std::index_sequence<I...>) {
  return std::array<std::string_view, sizeof...(I)>{name_of_member<T, I>()...};
}
/// The members' names in order.
template <class T>
inline constexpr auto member_names =
    make_member_names<std::remove_const_t<T>>(std::make_index_sequence<member_count<T>>());
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

}  // namespace fulgurite::detail

#include <fulgurite/detail/restore_macros.h>
