// Encodes and decodes texts with a tokenizer.json, for compare_tokenizers.py, or measures the speed of encoding.
// usage: read_tokenizer FILE < TEXTS > RESULTS, read_tokenizer FILE --speed TEXT_FILE
// TEXTS: each a line with its length in bytes, then the bytes. RESULTS: a line of JSON for each.
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>

#include <fulgurite/tokenizer.h>

#include "io/json.h"

using namespace fulgurite;

namespace {

std::string result_text(const Tokenizer& tokenizer, const std::string& text) {
  const Encoding encoding = tokenizer.encode(text);
  std::string out = "{\"ids\": [";
  for (size_t i = 0; i < encoding.ids.size(); ++i) out += (i ? "," : "") + std::to_string(encoding.ids[i]);
  out += "], \"offsets\": [";
  for (size_t i = 0; i < encoding.offsets.size(); ++i)
    out += (i ? ",[" : "[") + std::to_string(encoding.offsets[i].first) + "," +
           std::to_string(encoding.offsets[i].second) + "]";
  TextStream stream(tokenizer);
  std::string streamed;
  for (const int64_t id : encoding.ids) streamed += stream.put(id);
  streamed += stream.finish();
  return out + "], \"decoded\": " + json::quote(tokenizer.decode(encoding.ids)) +
         ", \"streamed\": " + json::quote(streamed) + "}\n";
}

void answer(const Tokenizer& tokenizer) {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::string text(std::stoul(line), '\0');
    std::cin.read(text.data(), static_cast<std::streamsize>(text.size()));
    try {
      std::cout << result_text(tokenizer, text);
    } catch (const std::exception& error) {
      std::cout << "{\"error\": " << json::quote(error.what()) << "}\n";
    }
  }
}

// Prints megabytes a second of processor time, the best of several runs.
void measure(const Tokenizer& tokenizer, const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  double best = 1e30;
  size_t count = 0;
  for (int run = 0; run < 5; ++run) {
    const std::clock_t start = std::clock();
    count = tokenizer.encode(text).ids.size();
    best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  std::cout << static_cast<double>(text.size()) / best * 1e-6 << " MB/s, " << count << " tokens\n";
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const Tokenizer tokenizer = Tokenizer::load(arguments[count > 1 ? 1 : 0]);
    if (count == 4) measure(tokenizer, arguments[3]);
    else answer(tokenizer);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
