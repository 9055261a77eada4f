#pragma once
#include <cstddef>
#include <initializer_list>
#include <new>
#include <utility>

namespace fulgurite {

/// A vector with inline storage for N elements.
template <class T, size_t N>
class SmallVector {
 public:
  SmallVector() = default;
  explicit SmallVector(size_t count) { resize(count); }
  SmallVector(std::initializer_list<T> items) { append(items.begin(), items.end()); }
  template <class Iterator>
  SmallVector(Iterator first, Iterator last) {
    append(first, last);
  }
  SmallVector(const SmallVector& other) { append(other.begin(), other.end()); }
  SmallVector(SmallVector&& other) noexcept { take(std::move(other)); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) {
      clear();
      append(other.begin(), other.end());
    }
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      destroy();
      take(std::move(other));
    }
    return *this;
  }
  ~SmallVector() { destroy(); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& front() { return data_[0]; }
  const T& front() const { return data_[0]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void push_back(T item) {
    reserve(size_ + 1);
    new (data_ + size_++) T(std::move(item));
  }
  /// Appends a default-constructed element.
  T& emplace_back() {
    reserve(size_ + 1);
    return *new (data_ + size_++) T();
  }
  void pop_back() { data_[--size_].~T(); }
  void resize(size_t count, const T& fill = T()) {
    while (size_ > count) pop_back();
    reserve(count);
    while (size_ < count) new (data_ + size_++) T(fill);
  }
  void clear() { resize(0); }
  void insert(size_t position, T item) {
    push_back(std::move(item));
    for (size_t i = size_ - 1; i > position; --i) std::swap(data_[i], data_[i - 1]);
  }
  void erase(size_t position) {
    for (size_t i = position; i + 1 < size_; ++i) data_[i] = std::move(data_[i + 1]);
    pop_back();
  }
  template <class Iterator>
  void append(Iterator first, Iterator last) {
    for (; first != last; ++first) push_back(*first);
  }
  void reserve(size_t count) {
    if (count <= capacity_) return;
    const size_t wanted = count > 2 * capacity_ ? count : 2 * capacity_;
    T* bigger = static_cast<T*>(::operator new(wanted * sizeof(T), std::align_val_t(alignof(T))));
    for (size_t i = 0; i < size_; ++i) {
      new (bigger + i) T(std::move(data_[i]));
      data_[i].~T();
    }
    free_heap();
    data_ = bigger;
    capacity_ = wanted;
  }
  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    if (a.size_ != b.size_) return false;
    for (size_t i = 0; i < a.size_; ++i)
      if (!(a.data_[i] == b.data_[i])) return false;
    return true;
  }

 private:
  T* in_place() { return reinterpret_cast<T*>(in_place_); }
  void free_heap() {
    if (data_ != in_place()) ::operator delete(data_, std::align_val_t(alignof(T)));
  }
  void destroy() {
    clear();
    free_heap();
    data_ = in_place();
    capacity_ = N;
  }
  void take(SmallVector&& other) noexcept {
    if (other.data_ != other.in_place()) {
      data_ = std::exchange(other.data_, other.in_place());
      size_ = std::exchange(other.size_, 0);
      capacity_ = std::exchange(other.capacity_, N);
      return;
    }
    data_ = in_place();
    capacity_ = N;
    size_ = 0;
    for (T& item : other) new (data_ + size_++) T(std::move(item));
    other.clear();
  }

  alignas(T) unsigned char in_place_[N * sizeof(T)];
  T* data_ = reinterpret_cast<T*>(in_place_);
  size_t size_ = 0;
  size_t capacity_ = N;
};

}  // namespace fulgurite
