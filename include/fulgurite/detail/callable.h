#pragma once
#include <fulgurite/detail/requirements.h>

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <fulgurite/detail/blocks.h>
#include <fulgurite/detail/signature.h>
#include <fulgurite/detail/walk.h>
#include <fulgurite/source_location.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace detail {

// The type-erased form of a callable: a constant table of functions over leaves. Everything independent of the
// callable's type is in the library behind it.

/// Collects the flattened arguments in the library.
class FlatArguments;
void read_leaf(FlatArguments&, const Tensor&);
void read_leaf(FlatArguments&, int64_t);
void read_leaf(FlatArguments&, double);
void read_leaf(FlatArguments&, bool);
void read_leaf(FlatArguments&, std::string_view);
void read_leaf(FlatArguments&, Device);
// These become symbols in modes where scalars may be symbolic.
void read_leaf(FlatArguments&, Int);
void read_leaf(FlatArguments&, Float);
void read_structure(FlatArguments&, size_t);
void read_structure(FlatArguments&, std::string_view);
/// The following leaves belong to the callable: its sizes and scalars are constants.
void begin_members(FlatArguments&);

/// The path of a leaf: the argument (callable_member: the callable itself) and the members that lead to it.
struct LeafPath {
  static constexpr int callable_member = -1;
  int argument = 0;
  bool in_structure = false;  // the argument is an aggregate: its members are named without it
  bool is_tensor = false;
  std::string path;                              // "blocks.0.wq"; empty if the argument is the leaf
  bool is_integer = false, is_floating = false;  // an Int or a Float, which may be symbolic
};

/// The inputs and outputs of one run of a callable.
struct Replay {
  const Tensor* arguments = nullptr;  // the substitute for each tensor among the arguments' leaves
  SourceLocation at;
  std::vector<Tensor> results;  // the tensors among the result's leaves
  // Substitutes for each Int and each Float among the arguments' leaves; null: unchanged
  const Int* integers = nullptr;
  const Float* floats = nullptr;
  // The scalars of these types among the result's leaves.
  std::vector<Int> result_integers = {};
  std::vector<Float> result_floats = {};
};

struct CallableTable {
  /// Reads the arguments' leaves, then those of the callable's members.
  void (*read)(const void* callable, const void* const* arguments, FlatArguments&);
  void (*paths)(const void* callable, const void* const* arguments, std::vector<LeafPath>&);
  /// Calls it on copies of the arguments with the tensors replaced; returns the result with its tensors moved out.
  std::shared_ptr<void> (*run)(void* callable, const void* const* arguments, Replay&);
};

// The callable's own members

/// Returns true if a member appears walkable, without looking into aggregates.
template <class T>
constexpr bool looks_walkable() {
  if constexpr (is_leaf<T> || is_shape<T> || HasFields<T> || is_plain_aggregate<T>) return true;
  else if constexpr (is_vector<T> || is_optional<T>) return looks_walkable<typename T::value_type>();
  else if constexpr (is_string_map<T>) return looks_walkable<typename T::mapped_type>();
  else if constexpr (std::is_array_v<T>) return looks_walkable<std::remove_all_extents_t<T>>();
  else return is_tuple<T> || is_std_array<T>;
}
template <class T>
constexpr bool may_hold_tensors() {
  return looks_walkable<T>() && !is_number<T> && !is_text<T> && !is_shape<T>;
}
enum class Walkability { no, yes, partly };
template <class... Members>
constexpr Walkability walkability_of(Types<Members...>) {
  if ((looks_walkable<Members>() && ...)) return Walkability::yes;
  return (may_hold_tensors<Members>() || ...) ? Walkability::partly : Walkability::no;
}
struct MemberTypes {
  template <class... Members>
  constexpr auto operator()(Members&...) const {
    return Types<std::remove_const_t<Members>...>();
  }
};

/// Returns true if a callable is a structure whose members count as arguments.
template <class F>
constexpr bool is_structure() {
  if constexpr (HasFields<F>) {
    return true;
  } else if constexpr (!is_plain_aggregate<F> || has_base_class<F>) {
    return false;
  } else if constexpr (member_count<F> == 0 || member_count<F> > max_members) {
    static_assert(member_count<F> == 0,
                  "fulgurite: an aggregate of more than 32 members; group them in structures or specialise "
                  "fulgurite::Fields for it");
    return false;
  } else {
    constexpr Walkability found = walkability_of(decltype(with_members(std::declval<F&>(), MemberTypes()))());
    static_assert(found != Walkability::partly,
                  "fulgurite: this callable holds tensors beside a member that cannot be taken apart; specialise "
                  "fulgurite::Fields for it, or wrap it in a lambda");
    return found == Walkability::yes;
  }
}

template <class F>
concept WrapsCallable = requires(const F& callable) {
  callable.wrapped();
};
template <class T>
inline constexpr bool is_reference_wrapper = false;
template <class T>
inline constexpr bool is_reference_wrapper<std::reference_wrapper<T>> = true;

/// visit(structure) for the structure that a callable is, or that it wraps.
template <class F, class Visit>
void visit_structure(const F& callable, Visit&& visit) {
  if constexpr (is_reference_wrapper<F>) visit_structure(std::as_const(callable.get()), visit);
  else if constexpr (WrapsCallable<F>) visit_structure(callable.wrapped(), visit);
  else if constexpr (is_structure<F>()) visit(callable);
}

// Visitors

struct LeafReader {
  FlatArguments& leaves;
  void leaf(const Tensor& tensor) { read_leaf(leaves, tensor); }
  void leaf(Device device) { read_leaf(leaves, device); }
  template <class T>
  requires is_number<T> || is_text<T>
  void leaf(const T& value) {
    if constexpr (is_text<T>) read_leaf(leaves, std::string_view(value));
    else if constexpr (std::is_same_v<T, Int> || std::is_same_v<T, Float>) read_leaf(leaves, value);
    else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, Bool>) read_leaf(leaves, static_cast<bool>(value));
    else if constexpr (std::is_floating_point_v<T>) read_leaf(leaves, static_cast<double>(value));
    else read_leaf(leaves, static_cast<int64_t>(value));
  }
  template <class Text>
  void structure(const Text& what) {
    read_structure(leaves, what);
  }
};

class PathReader {
 public:
  PathReader(std::vector<LeafPath>& paths, int argument, bool in_structure)
      : paths_(paths), argument_(argument), in_structure_(in_structure) {}
  template <class T>
  void leaf(const T&) {
    paths_.push_back(
        {argument_, in_structure_, std::is_same_v<T, Tensor>, path_, std::is_same_v<T, Int>, std::is_same_v<T, Float>});
  }
  void enter(std::string_view name) {
    lengths_.push_back(path_.size());
    if (!path_.empty()) path_ += '.';
    path_ += name;
  }
  void enter(size_t index) { enter(std::string_view(std::to_string(index))); }
  void leave() {
    path_.resize(lengths_.back());
    lengths_.pop_back();
  }

 private:
  std::vector<LeafPath>& paths_;
  int argument_;
  bool in_structure_;
  std::string path_;
  std::vector<size_t> lengths_;
};

/// Replaces tensors, and on request scalars.
struct TensorWriter {
  static constexpr bool may_write = true;
  const Tensor* next;
  const Int* integers = nullptr;
  const Float* floats = nullptr;
  void leaf(Tensor& tensor) { tensor = *next++; }
  void leaf(Int& number) {
    if (integers) number = *integers++;
  }
  void leaf(Float& number) {
    if (floats) number = *floats++;
  }
  template <class T>
  void leaf(T&) {}
};

/// Moves the tensors out of a result, and notes its scalars.
struct ResultTaker {
  static constexpr bool may_write = true;
  Replay& replay;
  void leaf(Tensor& tensor) { replay.results.push_back(std::exchange(tensor, Tensor())); }
  void leaf(Int& number) { replay.result_integers.push_back(number); }
  void leaf(Float& number) { replay.result_floats.push_back(number); }
  void leaf(Bool& value) { value = static_cast<bool>(value); }
  template <class T>
  void leaf(T&) {}
};

/// Moves the tensors out of a structure.
struct TensorTaker {
  static constexpr bool may_write = true;
  std::vector<Tensor>& tensors;
  void leaf(Tensor& tensor) { tensors.push_back(std::exchange(tensor, Tensor())); }
  template <class T>
  void leaf(T&) {}
};

// The table of a callable with these parameters

/// Calls `callable`, with the location if its signature ends in one.
template <class F, class... A>
decltype(auto) invoke_at(F& callable, SourceLocation at, A&&... arguments) {
  if constexpr (SignatureOf<F>::takes_location) return std::invoke(callable, std::forward<A>(arguments)..., at);
  else return std::invoke(callable, std::forward<A>(arguments)...);
}

template <class F, class... A>
using ResultOf = std::decay_t<decltype(invoke_at(std::declval<F&>(), SourceLocation(), std::declval<Stored<A>>()...))>;

template <class F, class... A>
class CallableFor {
  static_assert((check_parameter<A>() && ...));
  static_assert((std::is_copy_constructible_v<Stored<A>> && ...),
                "fulgurite: an argument of a traced function must have a copy constructor");

 public:
  using Result = ResultOf<F, A...>;
  static_assert(std::is_void_v<Result> || std::is_copy_constructible_v<Result>,
                "fulgurite: the result of a traced function must have a copy constructor");

  static void read(const void* callable, [[maybe_unused]] const void* const* arguments, FlatArguments& leaves) {
    LeafReader reader{leaves};
    [&]<size_t... I>(std::index_sequence<I...>) { (walk(at<Stored<A>>(arguments, I), reader), ...); }
    (Indexes());
    visit_structure(*static_cast<const F*>(callable), [&](const auto& structure) {
      begin_members(leaves);
      walk(structure, reader);
    });
  }

  static void paths(const void* callable, [[maybe_unused]] const void* const* arguments, std::vector<LeafPath>& paths) {
    const auto read_one = [&paths]<class T>(const T& argument, int index) {
      PathReader reader(paths, index, HasFields<T> || is_plain_aggregate<T>);
      walk(argument, reader);
    };
    [&]<size_t... I>(std::index_sequence<I...>) { (read_one(at<Stored<A>>(arguments, I), static_cast<int>(I)), ...); }
    (Indexes());
    visit_structure(*static_cast<const F*>(callable),
                    [&](const auto& structure) { read_one(structure, LeafPath::callable_member); });
  }

  static std::shared_ptr<void> run(void* callable, const void* const* arguments, Replay& replay) {
    return run_copies(*static_cast<F*>(callable), arguments, replay, Indexes());
  }

  static constexpr CallableTable table{&read, &paths, &run};

 private:
  using Indexes = std::index_sequence_for<A...>;
  template <class T>
  static const T& at(const void* const* arguments, size_t i) {
    return *static_cast<const T*>(arguments[i]);
  }

  template <size_t... I>
  static std::shared_ptr<void> run_copies(F& callable, [[maybe_unused]] const void* const* arguments, Replay& replay,
                                          std::index_sequence<I...>) {
    std::tuple<Stored<A>...> copies(at<Stored<A>>(arguments, I)...);
    TensorWriter writer{replay.arguments, replay.integers, replay.floats};
    walk(copies, writer);
    if constexpr (std::is_void_v<Result>) {
      // NOLINTNEXTLINE(bugprone-use-after-move): each element is moved once
      invoke_at(callable, replay.at, std::get<I>(std::move(copies))...);
      return nullptr;
    } else {
      // NOLINTNEXTLINE(bugprone-use-after-move)
      auto result = std::make_shared<Result>(invoke_at(callable, replay.at, std::get<I>(std::move(copies))...));
      ResultTaker taker{replay};
      walk(*result, taker);
      return result;
    }
  }
};

/// The result of a call: its tensors, and the rest of it.
struct CallResult {
  std::vector<Tensor, BlockAllocator<Tensor>> tensors;
  std::shared_ptr<const void> rest;
  // If they are functions of the arguments: the scalars of the rest.
  const Int* integers = nullptr;
  const Float* floats = nullptr;
};

template <class R>
R assemble_result(CallResult& result) {
  if constexpr (std::is_same_v<R, Tensor>) {
    return std::move(result.tensors[0]);
  } else if constexpr (!std::is_void_v<R>) {
    R assembled = *static_cast<const R*>(result.rest.get());
    TensorWriter writer{result.tensors.data(), result.integers, result.floats};
    walk(assembled, writer);
    return assembled;
  }
}

/// The parameter types of a call: those of the signature, or for a generic callable those of the arguments.
template <class F, class... Given>
struct ParametersOf {
  using Type = typename SignatureOf<F>::Parameters;
};
template <class F, class... Given>
requires SignatureOf<F>::is_generic struct ParametersOf<F, Given...> {
  using Type = Types<Given...>;
};

/// Returns true if a recording is in progress on this thread.
bool is_tracing();

}  // namespace detail
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
