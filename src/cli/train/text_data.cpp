#include "cli/train/text_data.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/text/utf8.h"

namespace fulgurite::cli {

namespace {

namespace fs = std::filesystem;

std::string read_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UserError("cannot read " + path.string() + ": " + std::strerror(errno));
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) throw UserError("cannot read " + path.string() + ": the read failed");
  return bytes;
}

// A character as an error message shows it, always within one line.
std::string shown(uint32_t code) {
  if (code == '\n') return "'\\n'";
  char number[16];
  std::snprintf(number, sizeof number, "U+%04X", static_cast<unsigned>(code));
  if (code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x2028 || code == 0x2029) return number;
  std::string out = "'";
  append_utf8(out, code);
  return out + "'";
}

int64_t first_bad_byte(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    if (next_code_point(text, at) < 0) return static_cast<int64_t>(start);
  }
  return -1;
}

std::string read_folder(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::string text;
  for (const fs::path& file : files) {
    const std::string bytes = read_bytes(file);
    if (bytes.find('\0') == std::string::npos && first_bad_byte(bytes) < 0) text += bytes;
  }
  return text;
}

// SplitMix64: a well mixed function of a counter.
uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

}  // namespace

std::string read_text(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) throw UserError("there is no file or folder " + path);
  std::string text = fs::is_directory(status) ? read_folder(path) : read_bytes(path);
  if (text.empty()) throw UserError(path + " holds no text");
  if (const int64_t bad = first_bad_byte(text); bad >= 0)
    throw UserError(path + " is not UTF-8 text: the byte at " + std::to_string(bad) +
                    " does not belong to a character");
  return text;
}

std::string read_standard_library_headers() {
  fs::path newest;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/usr/include/c++", error))
    if (entry.is_directory() && (newest.empty() || entry.path().filename() > newest.filename())) newest = entry.path();
  if (newest.empty())
    throw UserError("the C++ standard library's headers are not in /usr/include/c++; give a text with --text");
  return read_folder(newest / "bits");
}

Vocabulary Vocabulary::of(std::string_view text) {
  std::vector<bool> seen(0x110000);
  for (size_t at = 0; at < text.size();) {
    const int64_t code = next_code_point(text, at);
    if (code < 0) throw UserError("the text is not UTF-8");
    seen[static_cast<size_t>(code)] = true;
  }
  Vocabulary out;
  for (uint32_t code = 0; code < seen.size(); ++code)
    if (seen[code]) out.characters_.push_back(code);
  return out;
}

Vocabulary Vocabulary::from_characters(const std::string& characters) { return of(characters); }

std::vector<int64_t> Vocabulary::encode(std::string_view text) const {
  std::vector<int64_t> tokens;
  tokens.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const int64_t code = next_code_point(text, at);
    const auto found = std::lower_bound(characters_.begin(), characters_.end(), static_cast<uint32_t>(code));
    if (code < 0 || found == characters_.end() || *found != static_cast<uint32_t>(code)) {
      if (code < 0) throw UserError("the text is not UTF-8");
      throw UserError("the character " + shown(static_cast<uint32_t>(code)) + " is not in the model's vocabulary");
    }
    tokens.push_back(found - characters_.begin());
  }
  return tokens;
}

std::string Vocabulary::decode(int64_t token) const {
  std::string out;
  append_utf8(out, characters_.at(static_cast<size_t>(token)));
  return out;
}

std::string Vocabulary::characters() const {
  std::string out;
  for (const uint32_t code : characters_) append_utf8(out, code);
  return out;
}

Batch draw_batch(const std::vector<int64_t>& tokens, int64_t batch, int64_t block, uint64_t seed, uint64_t stream,
                 uint64_t index) {
  const auto choices = static_cast<uint64_t>(tokens.size()) - static_cast<uint64_t>(block);
  std::vector<int64_t> inputs, targets;
  inputs.reserve(static_cast<size_t>(batch * block));
  targets.reserve(static_cast<size_t>(batch * block));
  for (int64_t row = 0; row < batch; ++row) {
    const uint64_t draw =
        mix(mix(mix(seed) ^ stream) ^ (index * static_cast<uint64_t>(batch) + static_cast<uint64_t>(row)));
    const auto start = static_cast<std::ptrdiff_t>(draw % choices);
    inputs.insert(inputs.end(), tokens.begin() + start, tokens.begin() + start + block);
    targets.insert(targets.end(), tokens.begin() + start + 1, tokens.begin() + start + 1 + block);
  }
  const Shape shape{batch, block};
  const Tensor x = tensor(inputs), y = tensor(targets);
  return {x.reshape(shape), y.reshape(shape)};
}

}  // namespace fulgurite::cli
