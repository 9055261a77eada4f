#include <fulgurite/shape.h>

#include <algorithm>
#include <ostream>

#include "support/text/text.h"

namespace fulgurite {

Shape::Shape(const std::vector<int64_t>& sizes) : Shape(sizes.data(), sizes.size()) {}

Shape::Shape(const int64_t* sizes, size_t count) {
  reserve(count);
  std::copy(sizes, sizes + count, data_);
  size_ = count;
}

void Shape::reserve(size_t count) {
  if (count <= capacity_) return;
  const size_t wanted = std::max(count, 2 * capacity_);
  Int* bigger = new Int[wanted];
  std::copy(data_, data_ + size_, bigger);
  if (data_ != in_place_) delete[] data_;
  data_ = bigger;
  capacity_ = wanted;
}

void Shape::assign(const Int* sizes, size_t count) {
  if (count > capacity_) {
    size_ = 0;  // nothing stored
    reserve(count);
  }
  std::copy(sizes, sizes + count, data_);
  size_ = count;
}

void Shape::take(Shape& other) noexcept {
  size_ = other.size_;
  if (other.data_ == other.in_place_) {
    data_ = in_place_;
    capacity_ = in_place_capacity;
    std::copy(other.data_, other.data_ + size_, data_);
  } else {
    data_ = other.data_;
    capacity_ = other.capacity_;
    other.data_ = other.in_place_;
    other.capacity_ = in_place_capacity;
  }
  other.size_ = 0;
}

void Shape::push_back(Int size) {
  reserve(size_ + 1);
  data_[size_++] = size;
}

void Shape::insert(size_t position, Int size) {
  reserve(size_ + 1);
  std::copy_backward(data_ + position, data_ + size_, data_ + size_ + 1);
  data_[position] = size;
  ++size_;
}

void Shape::erase(size_t position) {
  std::copy(data_ + position + 1, data_ + size_, data_ + position);
  --size_;
}

void Shape::resize(size_t count, Int fill) {
  reserve(count);
  if (count > size_) std::fill(data_ + size_, data_ + count, fill);
  size_ = count;
}

bool Shape::is_symbolic() const {
  return std::any_of(begin(), end(), [](Int size) { return size.is_symbolic(); });
}

Int Shape::numel() const {
  // Factors of one are skipped, so that no ops are recorded for them.
  Int product = 1;
  for (const Int size : *this)
    if (!size.is_symbolic() && size.hint() == 0) return 0;  // regardless of the others
  for (const Int size : *this) {
    if (!size.is_symbolic() && size.hint() == 1) continue;
    if (!product.is_symbolic() && product.hint() == 1) product = size;
    else product = product * size;
  }
  return product;
}

std::vector<int64_t> Shape::to_vector() const { return std::vector<int64_t>(begin(), end()); }

std::string Shape::text() const {
  return '[' + text::join(*this, [](Int size) { return size; }) + ']';
}

bool Shape::equals(const Shape& other) const {
  if (size_ != other.size_) return false;
  for (size_t i = 0; i < size_; ++i) {
    const Int a = data_[i], b = other.data_[i];
    if (a.is_symbolic() && a.proxy() == b.proxy()) continue;
    if (!(a == b)) return false;
  }
  return true;
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << shape.text(); }

}  // namespace fulgurite
