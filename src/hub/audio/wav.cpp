#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

#include <fulgurite/error.h>
#include <fulgurite/hub/audio.h>

#include "hub/files.h"
#include "support/text/text.h"

namespace fulgurite::hub {

namespace {

// Codes of formats in the chunk "fmt ".
constexpr uint64_t integers = 1, floating = 3, extensible = 0xFFFE;
// Programs that write to a pipe do not know the size of the data, and write this one.
constexpr uint64_t unknown_size = 0xFFFFFFFF;

uint64_t number_at(std::string_view bytes, size_t begin, size_t count) {
  uint64_t value = 0;
  for (size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[begin + i]);
  return value;
}

struct Format {
  uint64_t code = 0, channels = 0, rate = 0, block = 0, bits = 0;
};

std::string name_of(uint64_t code) {
  switch (code) {
    case 2: return "ADPCM";
    case 6: return "A-law";
    case 7: return "mu-law";
    case 0x50:
    case 0x55: return "MPEG";
    default: return text::cat("number ", code);
  }
}

void check(const Format& format) {
  const bool is_known = format.code == integers || format.code == floating;
  if (!is_known)
    throw UserError(text::cat("its sound has the format ", name_of(format.code),
                              "; files of integers and floating-point numbers are read, convert it to one of them"));
  const uint64_t bits = format.bits;
  const bool has_width =
      format.code == floating ? bits == 32 || bits == 64 : bits == 8 || bits == 16 || bits == 24 || bits == 32;
  if (!has_width)
    throw UserError(text::cat("its samples are ", format.code == floating ? "floating-point numbers" : "integers",
                              " of ", bits,
                              " bits; integers of 8, 16, 24 and 32 bits and floating-point numbers of 32 "
                              "and 64 bits are read"));
  if (format.channels == 0 || format.rate == 0)
    throw UserError(text::cat("it has ", format.channels, " channels and ", format.rate, " samples of a second"));
  if (format.block != format.channels * bits / 8)
    throw UserError(text::cat("it is damaged: ", format.channels, " samples of ", bits, " bits do not have ",
                              format.block, " bytes"));
}

Format read_format(std::string_view chunk) {
  if (chunk.size() < 16) throw UserError("it is damaged: the chunk \"fmt \" is too short");
  Format format{number_at(chunk, 0, 2), number_at(chunk, 2, 2), number_at(chunk, 4, 4), number_at(chunk, 12, 2),
                number_at(chunk, 14, 2)};
  if (format.code == extensible) {
    if (chunk.size() < 40) throw UserError("it is damaged: the chunk \"fmt \" is too short");
    format.code = number_at(chunk, 24, 2);
  }
  check(format);
  return format;
}

double sample_at(std::string_view data, size_t begin, const Format& format) {
  const uint64_t bits = number_at(data, begin, format.bits / 8);
  if (format.code == floating)
    return format.bits == 64 ? std::bit_cast<double>(bits) : std::bit_cast<float>(static_cast<uint32_t>(bits));
  if (format.bits == 8) return (static_cast<double>(bits) - 128) / 128;
  const auto shifted = static_cast<int32_t>(static_cast<uint32_t>(bits << (32 - format.bits)));  // takes the sign along
  return static_cast<double>(shifted) / 2147483648.0;
}

std::vector<float> read_samples(std::string_view data, const Format& format) {
  const size_t count = data.size() / format.block, width = format.bits / 8;
  std::vector<float> samples(count);
  for (size_t i = 0; i < count; ++i) {
    double sum = 0;
    for (size_t channel = 0; channel < format.channels; ++channel)
      sum += sample_at(data, i * format.block + channel * width, format);
    samples[i] = static_cast<float>(sum / static_cast<double>(format.channels));
    if (!std::isfinite(samples[i])) throw UserError(text::cat("sample ", i, " is not a finite number"));
  }
  return samples;
}

// The chunks of a file, one after another.
class Chunks {
 public:
  explicit Chunks(std::string_view rest) : rest_(rest) {}
  bool next() {
    if (rest_.size() < 8) return false;
    name = rest_.substr(0, 4);
    uint64_t size = number_at(rest_, 4, 4);
    rest_.remove_prefix(8);
    if (name == "data" && size == unknown_size) size = rest_.size();
    if (size > rest_.size())
      throw UserError(text::cat("it is cut short: the chunk \"", name, "\" has ", size, " bytes, the file has ",
                                rest_.size(), " of them"));
    content = rest_.substr(0, size);
    rest_.remove_prefix(std::min<uint64_t>(rest_.size(), size + size % 2));
    return true;
  }
  std::string_view name, content;

 private:
  std::string_view rest_;
};

void check_kind(std::string_view bytes) {
  const std::string_view kind = bytes.substr(0, 4);
  if (kind == "RF64" || kind == "RIFX")
    throw UserError(text::cat("it is a WAV file of the kind ", kind, "; those of the kind RIFF are read"));
  if (kind != "RIFF" || bytes.size() < 12 || bytes.substr(8, 4) != "WAVE")
    throw UserError("it is not a WAV file; convert it to one, as \"ffmpeg -i FILE -ac 1 -ar 16000 OUT.wav\" does");
}

}  // namespace

Audio decode_wav(std::string_view bytes) {
  check_kind(bytes);
  std::optional<Format> format;
  for (Chunks chunks(bytes.substr(12)); chunks.next();) {
    if (chunks.name == "fmt ") format = read_format(chunks.content);
    if (chunks.name != "data") continue;
    if (!format) throw UserError("it is damaged: the chunk \"data\" precedes the chunk \"fmt \"");
    return {static_cast<int64_t>(format->rate), read_samples(chunks.content, *format)};
  }
  throw UserError("it is cut short: there is no chunk \"data\"");
}

Audio read_wav(const std::string& path) {
  const std::string bytes = read_text(path);
  try {
    return decode_wav(bytes);
  } catch (const UserError& error) {
    throw UserError(text::cat("\"", path, "\" cannot be read: ", error.what()));
  }
}

}  // namespace fulgurite::hub
