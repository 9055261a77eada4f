// Threads and processes that save safetensors files to one path at once, and readers that must find each file whole.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <fulgurite/fulgurite.h>

using namespace fulgurite;

namespace {

struct Options {
  int threads = 8, processes = 8, saves = 1000, elements = 50'000;
};

// Saves to `path` and reads it again, `saves` times: each file has one value in all elements, and the same in its
// metadata.
int save_and_read(const std::string& path, int writer, int saves, int elements) {
  int failures = 0;
  for (int i = 0; i < saves; ++i) {
    const int value = writer * 1000 + i % 1000;
    try {
      // Files of different lengths, so that a mixture of two would not even have the right size.
      save_safetensors(path, {{"a", full({elements + writer}, static_cast<double>(value))}},
                       {{"value", std::to_string(value)}});
      const SafetensorsFile file(path);
      const auto values = file.load("a").to_vector<float>();
      const float expected = std::stof(file.metadata().at("value"));
      for (const float found : values) {
        if (found == expected) continue;
        std::fprintf(stderr, "a mixed file: %g in a file of %g\n", static_cast<double>(found),
                     static_cast<double>(expected));
        ++failures;
        break;
      }
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      ++failures;
    }
  }
  return failures;
}

// `saves` saves shared out among threads, each with a number of its own.
int run_threads(const std::string& path, int first_writer, int threads, int saves, int elements) {
  std::atomic<int> failures{0};
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    const int share = saves / threads + (i < saves % threads);
    running.emplace_back([&, i, share] { failures += save_and_read(path, first_writer + i, share, elements); });
  }
  for (std::thread& thread : running) thread.join();
  return failures;
}

bool parse(Options& options, int count, char** values) {
  const std::pair<const char*, int*> flags[] = {{"--threads", &options.threads},
                                                {"--processes", &options.processes},
                                                {"--saves", &options.saves},
                                                {"--elements", &options.elements}};
  for (int i = 1; i < count; i += 2) {
    int* found = nullptr;
    for (const auto& [name, value] : flags)
      if (std::strcmp(values[i], name) == 0) found = value;
    if (!found || i + 1 == count || (*found = std::atoi(values[i + 1])) <= 0) return false;
  }
  return true;
}

}  // namespace

int main(int count, char** values) {
  Options options;
  if (!parse(options, count, values)) {
    std::fprintf(stderr, "usage: stress_saves [--threads N] [--processes N] [--saves N] [--elements N]\n");
    return 2;
  }
  char folder[] = "/tmp/fulgurite_saves_XXXXXX";
  if (!::mkdtemp(folder)) return 2;
  const std::string path = std::string(folder) + "/latest.safetensors";
  // The processes begin before this one has threads; each runs as many threads, and all share the saves.
  std::vector<pid_t> children;
  for (int i = 0; i < options.processes; ++i) {
    const int share = options.saves / options.processes + (i < options.saves % options.processes);
    const pid_t child = ::fork();
    if (child == 0) {
      set_num_threads(1);
      ::_exit(run_threads(path, 1 + i * options.threads, options.threads, share, options.elements) == 0 ? 0 : 1);
    }
    children.push_back(child);
  }
  int failed = 0;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    failed += status != 0;
  }
  set_num_threads(1);
  const int wrong = run_threads(path, 1000, options.threads, options.saves, options.elements);
  const auto files = std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
  std::filesystem::remove_all(folder);
  std::printf("%d saves by %d processes of %d threads: %d processes with failures\n", options.saves, options.processes,
              options.threads, failed);
  std::printf("%d saves by %d threads: %d wrong; %d temporary files left\n", options.saves, options.threads, wrong,
              static_cast<int>(files) - 1);
  return failed == 0 && wrong == 0 && files == 1 ? 0 : 1;
}
