// Reads safetensors files for compare_safetensors.py. Each line of stdin is a path; the answer is "ok N" with the
// number of tensors, or the error. With --time PATH: the seconds that it takes to read all tensors of a file, and to
// read its header.
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>

#include <fulgurite/fulgurite.h>

namespace {

template <class Run>
double seconds(Run&& run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int main(int count, char** values) {
  if (count == 3 && std::string(values[1]) == "--time") {
    const std::string path = values[2];
    const double all = seconds([&] { fulgurite::load_safetensors(path); });
    const double header = seconds([&] { const fulgurite::SafetensorsFile file(path); });
    std::printf("%.6f %.6f\n", all, header);
    return 0;
  }
  for (std::string path; std::getline(std::cin, path);) {
    try {
      std::printf("ok %zu\n", fulgurite::SafetensorsFile(path).names().size());
    } catch (const fulgurite::UserError& error) {
      std::printf("%s\n", std::string(error.what()).substr(0, std::string(error.what()).find('\n')).c_str());
    }
  }
}
