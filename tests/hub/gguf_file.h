#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace fulgurite::test {

/// Builds the bytes of a GGUF file.
class GgufBytes {
 public:
  explicit GgufBytes(uint32_t version = 3) : version_(version) {}

  template <class T>
  static std::string bytes_of(T value) {
    std::string out(sizeof value, '\0');
    std::memcpy(out.data(), &value, sizeof value);
    return out;
  }
  static std::string text(const std::string& value) { return bytes_of<uint64_t>(value.size()) + value; }

  GgufBytes& value(const std::string& key, uint32_t type, const std::string& bytes) {
    values_ += text(key) + bytes_of(type) + bytes;
    ++value_count_;
    return *this;
  }
  GgufBytes& string(const std::string& key, const std::string& value) { return this->value(key, 8, text(value)); }
  GgufBytes& u32(const std::string& key, uint32_t value) { return this->value(key, 4, bytes_of(value)); }
  GgufBytes& strings(const std::string& key, const std::vector<std::string>& items) {
    std::string bytes = bytes_of<uint32_t>(8) + bytes_of<uint64_t>(items.size());
    for (const std::string& item : items) bytes += text(item);
    return value(key, 9, bytes);
  }
  /// Dimensions from the outermost, as tensors have them.
  GgufBytes& tensor(const std::string& name, const std::vector<uint64_t>& shape, uint32_t type,
                    const std::string& data) {
    tensors_ += text(name) + bytes_of(static_cast<uint32_t>(shape.size()));
    for (size_t i = shape.size(); i-- > 0;) tensors_ += bytes_of(shape[i]);
    tensors_ += bytes_of(type) + bytes_of<uint64_t>(data_.size());
    data_ += data;
    data_.resize((data_.size() + 31) / 32 * 32);
    ++tensor_count_;
    return *this;
  }
  std::string str() const {
    std::string out =
        "GGUF" + bytes_of(version_) + bytes_of(tensor_count_) + bytes_of(value_count_) + values_ + tensors_;
    out.resize((out.size() + 31) / 32 * 32);
    return out + data_;
  }

 private:
  uint32_t version_;
  uint64_t value_count_ = 0, tensor_count_ = 0;
  std::string values_, tensors_, data_;
};

}  // namespace fulgurite::test
