#pragma once
#include <cstdint>
#include <string>

namespace fulgurite::test {

/// The bytes of a number, the lowest first.
inline std::string little_endian(uint64_t value, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
  return out;
}

/// A chunk of a WAV file, padded to an even size.
inline std::string wav_chunk(const std::string& name, const std::string& content) {
  return name + little_endian(content.size(), 4) + content + std::string(content.size() % 2, '\0');
}

/// The content of a chunk "fmt ".
inline std::string wav_format(uint64_t code, uint64_t channels, uint64_t rate, uint64_t bits) {
  const uint64_t block = channels * bits / 8;
  return little_endian(code, 2) + little_endian(channels, 2) + little_endian(rate, 4) + little_endian(rate * block, 4) +
         little_endian(block, 2) + little_endian(bits, 2);
}

/// A WAV file of some chunks.
inline std::string wav_of(const std::string& chunks) {
  return "RIFF" + little_endian(chunks.size() + 4, 4) + "WAVE" + chunks;
}

/// A WAV file with this format and data.
inline std::string wav_file(uint64_t code, uint64_t channels, uint64_t rate, uint64_t bits, const std::string& data) {
  return wav_of(wav_chunk("fmt ", wav_format(code, channels, rate, bits)) + wav_chunk("data", data));
}

}  // namespace fulgurite::test
