#include <bit>

#include <fulgurite/fulgurite.h>

#include "hub/audio/wav_file.h"
#include "hub/model_folder.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

using Floats = std::vector<float>;

std::string numbers(std::initializer_list<int64_t> values, int bytes) {
  std::string out;
  for (const int64_t value : values) out += little_endian(static_cast<uint64_t>(value), bytes);
  return out;
}

Floats samples_of(const std::string& file) { return hub::decode_wav(file).samples; }

}  // namespace

TEST("integers of 8 to 32 bits are between -1 and 1") {
  expect_equal(samples_of(wav_file(1, 1, 16000, 8, numbers({0, 64, 128, 255}, 1))), Floats{-1, -0.5, 0, 127.0F / 128});
  expect_equal(samples_of(wav_file(1, 1, 16000, 16, numbers({-32768, -1, 0, 16384, 32767}, 2))),
               Floats{-1, -1.0F / 32768, 0, 0.5, 32767.0F / 32768});
  expect_equal(samples_of(wav_file(1, 1, 16000, 24, numbers({-8388608, -2, 4194304, 8388607}, 3))),
               Floats{-1, -2.0F / 8388608, 0.5, 8388607.0F / 8388608});
  expect_equal(samples_of(wav_file(1, 1, 16000, 32, numbers({-2147483648, 1, 1073741824}, 4))),
               Floats{-1, 1.0F / 2147483648, 0.5});
  expect_equal(hub::decode_wav(wav_file(1, 1, 22050, 8, "")).rate, 22050);
}

TEST("floating-point numbers of 32 and 64 bits are read as they are") {
  const auto single = [](float value) { return little_endian(std::bit_cast<uint32_t>(value), 4); };
  const auto twice = [](double value) { return little_endian(std::bit_cast<uint64_t>(value), 8); };
  expect_equal(samples_of(wav_file(3, 1, 8000, 32, single(0.25F) + single(-1.5F))), Floats{0.25, -1.5});
  expect_equal(samples_of(wav_file(3, 1, 8000, 64, twice(0.125) + twice(-0.75))), Floats{0.125, -0.75});
  expect_error([&] { samples_of(wav_file(3, 1, 8000, 32, single(0) + single(NAN))); },
               "sample 1 is not a finite number");
}

TEST("several channels become their mean") {
  expect_equal(samples_of(wav_file(1, 2, 16000, 16, numbers({16384, -16384, 8192, 16384}, 2))), Floats{0, 0.375});
  expect_equal(samples_of(wav_file(1, 3, 16000, 8, numbers({128, 128, 224}, 1))), Floats{0.25});
}

TEST("other chunks, longer formats and unknown sizes of data are read") {
  const std::string data = numbers({16384, -16384}, 2), plain = wav_format(1, 1, 16000, 16);
  const std::string named = wav_of(wav_chunk("LIST", "abc") + wav_chunk("fmt ", plain + little_endian(0, 2)) +
                                   wav_chunk("fact", "wxyz") + wav_chunk("data", data) + wav_chunk("id3 ", "x"));
  expect_equal(samples_of(named), Floats{0.5, -0.5});
  const std::string guid = little_endian(3, 2) + std::string(14, 'g');
  const std::string longer =
      wav_format(0xFFFE, 1, 16000, 32) + little_endian(22, 2) + little_endian(32, 2) + little_endian(4, 4) + guid;
  const std::string half = little_endian(std::bit_cast<uint32_t>(0.5F), 4);
  expect_equal(samples_of(wav_of(wav_chunk("fmt ", longer) + wav_chunk("data", half))), Floats{0.5});
  const std::string streamed = wav_of(wav_chunk("fmt ", plain) + "data" + little_endian(0xFFFFFFFF, 4) + data);
  expect_equal(samples_of(streamed), Floats{0.5, -0.5});
  expect_equal(samples_of(wav_file(1, 2, 16000, 16, data + "x")), Floats{0});  // a part of a frame is left out
}

TEST("files that are damaged, cut short or of another kind are refused with the reason") {
  const auto refused = [](const std::string& bytes, const std::string& message) {
    expect_error([&] { hub::decode_wav(bytes); }, message);
  };
  const std::string other =
      "it is not a WAV file; convert it to one, as \"ffmpeg -i FILE -ac 1 -ar 16000 OUT.wav\" does";
  for (const char* bytes : {"", "RIFF", "ID3 music", "fLaC............", "RIFF....AVI ....", "RIFF1234WAV"})
    refused(bytes, other);
  refused("RIFX1234WAVE", "it is a WAV file of the kind RIFX; those of the kind RIFF are read");
  refused("RF641234WAVE", "it is a WAV file of the kind RF64; those of the kind RIFF are read");
  const std::string good = wav_file(1, 1, 16000, 16, numbers({1, 2, 3}, 2));
  refused(good.substr(0, good.size() - 1), "it is cut short: the chunk \"data\" has 6 bytes, the file has 5 of them");
  refused(good.substr(0, 30), "it is cut short: the chunk \"fmt \" has 16 bytes, the file has 10 of them");
  for (const size_t size : {12, 16, 36, 40})
    refused(good.substr(0, size), "it is cut short: there is no chunk \"data\"");
  refused(wav_of(wav_chunk("data", "ab") + wav_chunk("fmt ", wav_format(1, 1, 16000, 16))),
          "it is damaged: the chunk \"data\" precedes the chunk \"fmt \"");
  refused(wav_of(wav_chunk("fmt ", "short")), "it is damaged: the chunk \"fmt \" is too short");
  refused(wav_of(wav_chunk("fmt ", wav_format(0xFFFE, 1, 16000, 16))),
          "it is damaged: the chunk \"fmt \" is too short");
}

TEST("formats that are not read are named") {
  const auto refused = [](uint64_t code, uint64_t channels, uint64_t rate, uint64_t bits, const std::string& message) {
    expect_error([&] { hub::decode_wav(wav_file(code, channels, rate, bits, "abcd")); }, message);
  };
  const std::string others = "; files of integers and floating-point numbers are read, convert it to one of them";
  refused(2, 1, 8000, 8, "its sound has the format ADPCM" + others);
  refused(6, 1, 8000, 8, "its sound has the format A-law" + others);
  refused(7, 1, 8000, 8, "its sound has the format mu-law" + others);
  refused(0x55, 1, 8000, 8, "its sound has the format MPEG" + others);
  refused(99, 1, 8000, 8, "its sound has the format number 99" + others);
  const std::string widths =
      "; integers of 8, 16, 24 and 32 bits and floating-point numbers of 32 and 64 bits are read";
  refused(1, 1, 8000, 12, "its samples are integers of 12 bits" + widths);
  refused(3, 1, 8000, 16, "its samples are floating-point numbers of 16 bits" + widths);
  refused(1, 0, 8000, 16, "it has 0 channels and 8000 samples of a second");
  refused(1, 1, 0, 16, "it has 1 channels and 0 samples of a second");
  std::string format = wav_format(1, 1, 8000, 16);
  format[12] = 3;
  expect_error([&] { hub::decode_wav(wav_of(wav_chunk("fmt ", format))); },
               "it is damaged: 1 samples of 16 bits do not have 3 bytes");
}

TEST("a file that cannot be read is named") {
  const TestFolder folder;
  write_text(folder.file("a.wav"), "no sound");
  expect_error([&] { hub::read_wav(folder.file("a.wav")); },
               "\"" + folder.file("a.wav") +
                   "\" cannot be read: it is not a WAV file; convert it to one, as \"ffmpeg -i "
                   "FILE -ac 1 -ar 16000 OUT.wav\" does");
  expect_error([&] { hub::read_wav(folder.file("none.wav")); }, "\"" + folder.file("none.wav") + "\" cannot be read");
  write_text(folder.file("b.wav"), wav_file(1, 1, 16000, 16, numbers({16384}, 2)));
  expect_equal(hub::read_wav(folder.file("b.wav")).samples, Floats{0.5});
}
