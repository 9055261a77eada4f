#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace fulgurite::training {

/// A message of protocol buffers, field by field.
class Message {
 public:
  Message& number(int field, double value);
  Message& single(int field, float value);
  Message& integer(int field, int64_t value);
  Message& text(int field, std::string_view value);
  Message& message(int field, const Message& value) { return text(field, value.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void key(int field, int wire_type);
  void varint(uint64_t value);
  std::string bytes_;
};

/// A record of TFRecord's framing: length and data, each with its checksum.
std::string record_of(std::string_view data);
/// The checksum CRC-32C of bytes.
uint32_t crc32c(std::string_view bytes);

}  // namespace fulgurite::training
