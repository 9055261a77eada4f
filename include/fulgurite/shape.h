#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include <fulgurite/number.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

/// The sizes of a tensor: a short sequence of Int. Up to six are stored inline.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<Int> sizes) { assign(sizes.begin(), sizes.size()); }
  Shape(const std::vector<int64_t>& sizes);
  Shape(const std::vector<Int>& sizes) { assign(sizes.data(), sizes.size()); }
  Shape(const Int* sizes, size_t count) { assign(sizes, count); }
  Shape(const int64_t* sizes, size_t count);
  Shape(const Shape& other) { assign(other.data(), other.size()); }
  Shape(Shape&& other) noexcept { take(other); }
  Shape& operator=(const Shape& other) {
    if (this != &other) assign(other.data(), other.size());
    return *this;
  }
  Shape& operator=(Shape&& other) noexcept {
    if (this != &other) {
      if (data_ != in_place_) delete[] data_;
      take(other);
    }
    return *this;
  }
  ~Shape() {
    if (data_ != in_place_) delete[] data_;
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Int* data() { return data_; }
  const Int* data() const { return data_; }
  Int* begin() { return data_; }
  Int* end() { return data_ + size_; }
  const Int* begin() const { return data_; }
  const Int* end() const { return data_ + size_; }
  Int& operator[](size_t i) { return data_[i]; }
  const Int& operator[](size_t i) const { return data_[i]; }
  Int& back() { return data_[size_ - 1]; }
  const Int& back() const { return data_[size_ - 1]; }
  void push_back(Int);
  void pop_back() { --size_; }
  void insert(size_t position, Int);
  void erase(size_t position);
  void resize(size_t count, Int fill = 0);

  /// Returns true if any size is symbolic.
  bool is_symbolic() const;
  /// The product of the sizes; 1 for no dimensions.
  Int numel() const;
  std::vector<int64_t> to_vector() const;
  /// "[2, 3]"
  std::string text() const;

  /// Equal lengths and equal sizes; comparing symbols adds guards.
  friend bool operator==(const Shape& a, const Shape& b) { return a.equals(b); }

 private:
  bool equals(const Shape&) const;
  void assign(const Int* sizes, size_t count);
  void take(Shape& other) noexcept;
  void reserve(size_t count);
  static constexpr size_t in_place_capacity = 6;

  Int* data_ = in_place_;
  size_t size_ = 0;
  size_t capacity_ = in_place_capacity;
  Int in_place_[in_place_capacity];
};
std::ostream& operator<<(std::ostream&, const Shape&);

namespace detail {
template <class T>
concept IntegerLike = CppInteger<T> || std::same_as<T, Int>;
/// Also a tensor of one integer.
template <class T>
concept DimensionLike = IntegerLike<T> || std::same_as<T, Tensor>;
template <class T>
concept NumberLike = CppNumber<T> || std::same_as<T, Int> || std::same_as<T, Float>;
}  // namespace detail

// The parameters below accept one value or braces of several. They have no constructor from a std::initializer_list:
// with one, g++ 12 accepts `{.padding = 2}`, a misplaced options structure, as the number 2.

/// A parameter that accepts one integer or several: `sum(x, 1)`, `sum(x, {0, 1})`. `{}` means "not given".
class Dims : public Shape {
 public:
  Dims() = default;
  template <detail::DimensionLike... T>
  requires(sizeof...(T) > 0) Dims(const T&... dims) : Shape({Int(dims)...}) {}
  template <std::same_as<Shape> S>
  Dims(const S& dims) : Shape(dims) {}
  template <detail::IntegerLike T>
  requires(std::same_as<T, int64_t> || std::same_as<T, Int>) Dims(const std::vector<T>& dims) : Shape(dims) {}
};

/// The padding of a convolution: sizes, or "same" (the result has the input's sizes) or "valid" (none).
class Padding {
 public:
  Padding() = default;
  template <detail::IntegerLike... T>
  requires(sizeof...(T) > 0) Padding(T... sizes) : sizes_(sizes...) {}
  template <std::derived_from<Shape> S>
  Padding(const S& sizes) : sizes_(sizes) {}
  Padding(const char* name) : name_(name) {}
  Padding(std::string_view name) : name_(name) {}

  const Dims& sizes() const { return sizes_; }
  /// "" if sizes are given.
  std::string_view name() const { return name_; }

 private:
  Dims sizes_;
  std::string_view name_;
};

/// A parameter that accepts one number or several: `interpolate(x, {}, 2.0)`, `interpolate(x, {}, {2.0, 1.5})`.
class Numbers {
 public:
  Numbers() = default;
  template <detail::NumberLike... T>
  requires(sizeof...(T) > 0) Numbers(T... numbers) : numbers_{Float(numbers)...} {}
  template <std::same_as<double> T>
  Numbers(const std::vector<T>& numbers) : numbers_(numbers.begin(), numbers.end()) {}

  bool empty() const { return numbers_.empty(); }
  size_t size() const { return numbers_.size(); }
  const Float* data() const { return numbers_.data(); }

 private:
  std::vector<Float> numbers_;
};

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
