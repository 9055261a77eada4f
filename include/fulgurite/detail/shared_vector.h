#pragma once
#include <fulgurite/detail/requirements.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fulgurite/detail/blocks.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

/// A copy-on-write vector: one pointer to its reference count, its size and its items. Reading through a const one, or
/// `read()`, never copies.
template <class T>
class SharedVector {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  SharedVector() = default;
  SharedVector(const std::vector<T>& items) : SharedVector(items.data(), items.data() + items.size()) {}
  SharedVector(std::vector<T>&& items)
      : SharedVector(std::make_move_iterator(items.begin()), std::make_move_iterator(items.end())) {}
  SharedVector(std::initializer_list<T> items) : SharedVector(items.begin(), items.end()) {}
  template <std::input_iterator Items>
  SharedVector(Items first, Items last) {
    for (reserve(std::distance(first, last)); first != last; ++first) push_back(*first);
  }
  SharedVector(const SharedVector& other) : block_(other.block_) {
    if (block_) block_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  SharedVector(SharedVector&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  SharedVector& operator=(SharedVector other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~SharedVector() { drop(block_); }

  std::span<const T> read() const { return {data(), size()}; }
  /// The items, copied first if they are shared.
  std::span<T> change() {
    if (is_shared()) grow_to(block_->size);
    return {items(block_), size()};
  }
  operator std::vector<T>() const { return std::vector<T>(begin(), end()); }

  bool empty() const { return size() == 0; }
  size_t size() const { return block_ ? block_->size : 0; }
  const T* data() const { return items(block_); }
  const T& operator[](size_t i) const { return data()[i]; }
  const T& at(size_t i) const {
    if (i >= size()) throw std::out_of_range("SharedVector::at");
    return data()[i];
  }
  const T& front() const { return data()[0]; }
  const T& back() const { return data()[size() - 1]; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size(); }

  T& operator[](size_t i) { return change()[i]; }
  T& front() { return change().front(); }
  T& back() { return change().back(); }
  T* begin() { return change().data(); }
  T* end() { return change().data() + size(); }

  void clear() { drop(std::exchange(block_, nullptr)); }
  void reserve(size_t count) {
    if (count > 0 && (!block_ || is_shared() || count > block_->capacity)) grow_to(count > size() ? count : size());
  }
  void push_back(T item) { emplace_back(std::move(item)); }
  template <class... Parts>
  T& emplace_back(Parts&&... parts) {
    T item(std::forward<Parts>(parts)...);  // first: it may be constructed from an item of this vector
    if (!block_ || is_shared() || block_->size == block_->capacity) grow_to(size() > 0 ? 2 * size() : 2);
    T* const made = new (items(block_) + block_->size) T(std::move(item));
    ++block_->size;
    return *made;
  }
  void resize(size_t count) {
    reserve(count);
    while (size() > count) pop_back();
    while (size() < count) emplace_back();
  }
  void pop_back() {
    std::destroy_at(&back());
    --block_->size;
  }
  T* insert(const T* before, T item) {
    const std::ptrdiff_t at = before - data();
    push_back(std::move(item));
    T* const items = change().data();
    for (std::ptrdiff_t i = static_cast<std::ptrdiff_t>(size()) - 1; i > at; --i) std::swap(items[i], items[i - 1]);
    return items + at;
  }
  template <std::input_iterator Items>
  T* insert(const T* before, Items first, Items last) {
    const std::ptrdiff_t at = before - data();
    std::vector<T> all(data(), data() + at);
    all.insert(all.end(), first, last);
    all.insert(all.end(), data() + at, data() + size());
    *this = SharedVector(std::move(all));
    return begin() + at;
  }
  T* erase(const T* item) { return erase(item, item + 1); }
  T* erase(const T* first, const T* last) {
    const std::ptrdiff_t at = first - data(), count = last - first;
    std::move(begin() + at + count, end(), begin() + at);
    resize(size() - count);
    return begin() + at;
  }

  friend bool operator==(const SharedVector& a, const SharedVector& b) {
    if (a.block_ == b.block_) return true;
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i)
      if (!(a[i] == b[i])) return false;
    return true;
  }

 private:
  struct Block {
    std::atomic<int> owners{1};
    uint32_t size = 0, capacity = 0;
  };
  static constexpr size_t offset() { return (sizeof(Block) + alignof(T) - 1) / alignof(T) * alignof(T); }
  static T* items(Block* block) {
    return block ? reinterpret_cast<T*>(reinterpret_cast<char*>(block) + offset()) : nullptr;
  }

  bool is_shared() const { return block_ && block_->owners.load(std::memory_order_acquire) != 1; }
  // Moves to a new block with this capacity; uniquely owned items are moved, others copied.
  void grow_to(size_t capacity) {
    static_assert(alignof(T) <= alignof(std::max_align_t));
    auto* const grown = new (detail::allocate_block(offset() + capacity * sizeof(T))) Block;
    grown->capacity = static_cast<uint32_t>(capacity);
    grown->size = static_cast<uint32_t>(size());
    if (is_shared()) std::uninitialized_copy_n(items(block_), grown->size, items(grown));
    else std::uninitialized_move_n(items(block_), grown->size, items(grown));
    drop(std::exchange(block_, grown));
  }
  static void drop(Block* block) {
    if (!block || block->owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    std::destroy_n(items(block), block->size);
    block->~Block();
    detail::free_block(block);
  }
  Block* block_ = nullptr;
};

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
