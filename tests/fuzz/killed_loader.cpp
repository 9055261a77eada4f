// Loads shuffled batches for some epochs, and writes each batch's samples and then the loader's state, for
// tools/checks/loader.py, which kills it at any moment.
//   killed_loader STATE_FILE LOG_FILE WORKERS
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include <fulgurite/fulgurite.h>

using namespace fulgurite;

namespace {

constexpr int64_t samples = 1000, epochs = 5;

/// A sample is its index and a number that its generator draws.
struct Numbered {
  int64_t size() const { return samples; }
  std::pair<Tensor, Tensor> get(int64_t index, Generator& generator) const {
    return {tensor({static_cast<double>(index)}), rand({1}, {.generator = generator})};
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: killed_loader STATE_FILE LOG_FILE WORKERS\n";
    return 2;
  }
  const std::string state_file = argv[1];
  data::DataLoader loader(Numbered(),
                          {.batch_size = 16, .shuffle = true, .workers = std::stoll(argv[3]), .seed = uint64_t{7}});
  if (std::filesystem::exists(state_file)) loader.load_state_dict(load_safetensors(state_file));
  std::ofstream log(argv[2], std::ios::app);
  const auto position = [&] { return loader.state_dict().at("position").item<int64_t>(); };
  const auto is_done = [&] {
    return loader.epoch() >= epochs || (loader.epoch() == epochs - 1 && position() == loader.size());
  };
  while (!is_done())
    for (auto& [indices, numbers] : loader) {
      std::string line = std::to_string(loader.epoch()) + " " + std::to_string(position()) + ":";
      for (const float index : indices.to_vector<float>()) line += " " + std::to_string(static_cast<int64_t>(index));
      for (const float number : numbers.to_vector<float>()) line += " " + std::to_string(number);
      log << line + "\n" << std::flush;
      save_safetensors(state_file, loader.state_dict());
    }
  std::cout << "waited " << loader.waited_seconds() << " s\n";
}
