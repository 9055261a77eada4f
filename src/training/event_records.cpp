#include "training/event_records.h"

#include <array>
#include <cstring>

namespace fulgurite::training {

namespace {

constexpr uint32_t reversed_polynomial = 0x82F63B78;

constexpr std::array<uint32_t, 256> crc_table() {
  std::array<uint32_t, 256> out{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t rest = i;
    for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ ((rest & 1) != 0 ? reversed_polynomial : 0);
    out[i] = rest;
  }
  return out;
}

template <class T>
void append_bytes(std::string& out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

// TFRecord's checksums are turned and shifted, so that a checksum of data with checksums in them is sound.
uint32_t masked_crc(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> table = crc_table();
  uint32_t crc = ~0u;
  for (const char byte : bytes) crc = crc >> 8 ^ table[(crc ^ static_cast<unsigned char>(byte)) & 255];
  return ~crc;
}

void Message::varint(uint64_t value) {
  for (; value >= 128; value >>= 7) bytes_ += static_cast<char>((value & 127) | 128);
  bytes_ += static_cast<char>(value);
}
void Message::key(int field, int wire_type) { varint(static_cast<uint64_t>(field << 3 | wire_type)); }

Message& Message::number(int field, double value) {
  key(field, 1);
  append_bytes(bytes_, value);
  return *this;
}
Message& Message::single(int field, float value) {
  key(field, 5);
  append_bytes(bytes_, value);
  return *this;
}
Message& Message::integer(int field, int64_t value) {
  key(field, 0);
  varint(static_cast<uint64_t>(value));
  return *this;
}
Message& Message::text(int field, std::string_view value) {
  key(field, 2);
  varint(value.size());
  bytes_ += value;
  return *this;
}

std::string record_of(std::string_view data) {
  std::string length, out;
  append_bytes(length, static_cast<uint64_t>(data.size()));
  out += length;
  append_bytes(out, masked_crc(length));
  out += data;
  append_bytes(out, masked_crc(data));
  return out;
}

}  // namespace fulgurite::training
