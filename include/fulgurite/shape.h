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

/// The sizes of a tensor: a short sequence of Int. Up to six are stored in place.
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

  /// Whether any size is a symbol.
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

/// A parameter that takes one integer or several: `sum(x, 1)`, `sum(x, {0, 1})`. `{}` means "not given".
class Dims : public Shape {
 public:
  Dims() = default;
  Dims(std::initializer_list<Int> dims) : Shape(dims) {}
  Dims(const Shape& dims) : Shape(dims) {}
  Dims(const std::vector<int64_t>& dims) : Shape(dims) {}
  Dims(const std::vector<Int>& dims) : Shape(dims) {}
  template <CppInteger T>
  Dims(T dim) : Shape({Int(dim)}) {}
  Dims(Int dim) : Shape({dim}) {}
};

/// How a convolution pads: by sizes, or as "same" (the result has the input's sizes) or "valid" (not at all) say.
class Padding {
 public:
  Padding() = default;
  Padding(std::initializer_list<Int> sizes) : sizes_(sizes) {}
  Padding(const Dims& sizes) : sizes_(sizes) {}
  template <CppInteger T>
  Padding(T size) : sizes_(size) {}
  Padding(Int size) : sizes_(size) {}
  Padding(const char* name) : name_(name) {}
  Padding(std::string_view name) : name_(name) {}

  const Dims& sizes() const { return sizes_; }
  /// "" where sizes are given.
  std::string_view name() const { return name_; }

 private:
  Dims sizes_;
  std::string_view name_;
};

/// A parameter that takes one number or several: `interpolate(x, {}, 2.0)`, `interpolate(x, {}, {2.0, 1.5})`.
class Numbers {
 public:
  Numbers() = default;
  Numbers(std::initializer_list<Float> numbers) : numbers_(numbers) {}
  Numbers(const std::vector<double>& numbers) : numbers_(numbers.begin(), numbers.end()) {}
  template <CppNumber T>
  Numbers(T number) : numbers_{Float(number)} {}
  Numbers(Float number) : numbers_{number} {}

  bool empty() const { return numbers_.empty(); }
  size_t size() const { return numbers_.size(); }
  const Float* data() const { return numbers_.data(); }

 private:
  std::vector<Float> numbers_;
};

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
