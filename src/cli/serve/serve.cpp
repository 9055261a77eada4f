#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include <fulgurite/tensor.h>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/models/models.h"
#include "cli/serve/http_server.h"
#include "training/stop_signal.h"

namespace fulgurite::cli {

namespace {

struct Settings {
  std::string model, embedder, name, dtype = "files", weights = "files";
  int64_t threads = 0, body_megabytes = 4;
  ServiceLimits limits{};
  HttpOptions http{};
};

bool parse(Settings& s, const std::vector<std::string>& arguments) {
  Flags flags(
      "fulgurite serve --model FOLDER [flags]",
      {"fulgurite serve --model smollm2 --port 8080", "fulgurite serve --model smollm2 --embedder minilm --texts 16"});
  flags.text("model", "FOLDER", s.model, "a folder of a Hugging Face language model");
  flags.text("embedder", "FOLDER", s.embedder, "a folder of sentence-transformers, or of a BERT, for /v1/embeddings");
  flags.text("name", "NAME", s.name, "the language model's name in requests (the folder's)");
  flags.text("host", "ADDRESS", s.http.host, "the address to listen at (127.0.0.1: this machine's programs only)");
  flags.integer("port", s.http.port, 0, 65535, "the port to listen at; 0: any that is free");
  flags.text("api-key", "TEXT", s.http.key, "the key that clients must send");
  flags.integer("texts", s.limits.texts, 1, 1024, "texts that are computed together");
  flags.integer("queue", s.limits.queue, 0, 1 << 20, "texts that may wait; more get the status 429");
  flags.integer("context", s.limits.context, 0, 1 << 30, "the most tokens of a text; 0: the model's limit");
  flags.integer("connections", s.http.connections, 1, 4096, "connections that are served at a time; others wait");
  flags.integer("max-body", s.body_megabytes, 1, 1024, "MiB of the largest request");
  flags.choice("dtype", s.dtype, {"files", "f32", "bf16", "f16"}, "dtype of the weights; files: theirs");
  flags.choice("weights", s.weights, {"files", "int8", "int4"}, "the linear layers' weights, in few bits");
  flags.integer("threads", s.threads, 0, 1024, "threads; 0: the CPUs there are");
  flags.toggle("quiet", s.http.is_quiet, "print no line for each request");
  if (!flags.parse(arguments)) return false;
  if (s.model.empty() && s.embedder.empty()) throw WrongUse("--model is missing; see --help");
  s.http.body_bytes = s.body_megabytes << 20;
  return true;
}

std::string name_of(const std::string& folder) { return std::filesystem::weakly_canonical(folder).filename().string(); }

void load(Service& service, const Settings& s) {
  const hub::LoadOptions options = load_options(s.dtype, s.weights);
  if (!s.model.empty()) service.add_text_model(s.name.empty() ? name_of(s.model) : s.name, s.model, options);
  if (!s.embedder.empty()) service.add_embedder(name_of(s.embedder), s.embedder, options);
}

}  // namespace

int serve(const std::vector<std::string>& arguments) {
  Settings settings;
  if (!parse(settings, arguments)) return 0;
  if (settings.threads > 0) set_num_threads(static_cast<int>(settings.threads));
  catch_stop_signals();
  Service service(settings.limits);
  load(service, settings);
  const HttpServer server(service, settings.http);
  std::printf("listening at http://%s:%lld\n", settings.http.host.c_str(), static_cast<long long>(server.port()));
  std::fflush(stdout);
  while (stop_signal() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  std::fprintf(stderr, "finishing the answers in progress; a second signal ends them\n");
  return 0;
}

}  // namespace fulgurite::cli
