#pragma once
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

/// A folder that is removed when the test ends.
struct TestFolder {
  std::string path;
  TestFolder() {
    char name[] = "/tmp/fulgurite_io_XXXXXX";
    path = ::mkdtemp(name);
  }
  ~TestFolder() { std::filesystem::remove_all(path); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  std::string file(const std::string& name = "x.safetensors") const { return path + "/" + name; }
  auto count() const {
    return std::distance(std::filesystem::directory_iterator(path), std::filesystem::directory_iterator());
  }
};

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// The bytes of a safetensors file: the header's length (or `length` instead of it), the header, the data.
inline std::string safetensors_bytes(const std::string& header, const std::string& data, uint64_t length = 0) {
  std::string out;
  if (length == 0) length = header.size();
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<char>(length >> (8 * i)));
  return out + header + data;
}
