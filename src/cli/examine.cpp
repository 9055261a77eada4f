#include <algorithm>
#include <cstdio>
#include <iostream>
#include <sstream>

#include <fulgurite/error.h>
#include <fulgurite/extend.h>
#include <fulgurite/explorer.h>
#include <fulgurite/supported.h>

#include "cli/commands.h"
#include "cli/example_models.h"
#include "cli/flags.h"
#include "io/atomic_file.h"
#include "io/json.h"
#include "support/text/text.h"
#include "support/text/wrap.h"

namespace fulgurite::cli {

namespace {

constexpr size_t report_width = 100;

// Names a fusion of the model's call, or explains which there are.
void check_fusion(const Jitted& f, const std::string& model, const std::string& fusion) {
  const std::vector<std::string> names = examine::fusion_names(f);
  if (std::find(names.begin(), names.end(), fusion) != names.end()) return;
  const std::string list = text::join(names, [](const std::string& name) { return name; });
  throw WrongUse(model + " has no fusion " + fusion +
                 (names.empty() ? "; it runs none. For lines of its trace give --first and --last; fulgurite trace " +
                                      model + " prints them"
                                : "; there are " + list));
}

constexpr const char* dtype_help = "dtype of matmuls (f32); parameters stay f32";

// Fuses everything that can be fused: example models are too small for profitable kernels.
JitOptions with_executors(const std::string& list, const std::string& dtype) {
  JitOptions options;
  if (dtype == "bf16") options.autocast = Dtype::bf16;
  if (list.empty()) options.executors = default_executors();
  std::istringstream names(list);
  for (std::string name; std::getline(names, name, ',');) options.executors.push_back(name);
  return options;
}

std::string sizes_json(const Shape& sizes) {
  std::string out;
  for (const Int size : sizes) out += (out.empty() ? "" : ", ") + std::to_string(size.hint());
  return "[" + out + "]";
}

std::string tensors_json(const std::vector<examine::FusionInput>& tensors) {
  std::ostringstream out;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const examine::FusionInput& tensor = tensors[i];
    out << (i == 0 ? "" : ", ") << "{\"name\": " << json::quote(tensor.name)
        << ", \"shape\": " << sizes_json(tensor.shape) << ", \"strides\": " << sizes_json(tensor.strides)
        << ", \"offset\": " << tensor.offset << ", \"dtype\": \"" << tensor.dtype << "\", \"device\": \""
        << tensor.device << "\", \"shares_with\": " << json::quote(tensor.shares_with) << '}';
  }
  return "[" + out.str() + "]";
}

void print_json(const Jitted& f, const std::vector<std::string>& fusions) {
  const examine::MemoryReport forward = examine::memory(last_traces(f).back());
  std::string all;
  for (const std::string& name : fusions) {
    const examine::FusionReport report = examine::fusion_report(f, name);
    std::ostringstream out;
    out << (all.empty() ? "" : ", ") << "{\"name\": " << json::quote(name)
        << ", \"inputs\": " << tensors_json(report.inputs) << ", \"outputs\": " << tensors_json(report.outputs)
        << ", \"bytes_read\": " << report.bytes_read << ", \"bytes_written\": " << report.bytes_written
        << ", \"operations\": " << report.operations << ", \"microseconds\": " << json::number(report.microseconds)
        << ", \"last_runs\": [" << text::join(report.last_runs, json::number)
        << "], \"share_of_limit\": " << json::number(report.share_of_limit) << '}';
    all += out.str();
  }
  std::printf("{\"fusions\": [%s], \"peak_bytes\": %lld, \"saved_bytes\": %lld}\n", all.c_str(),
              static_cast<long long>(forward.peak_bytes), static_cast<long long>(forward.saved_bytes));
}

void print_fusion(const Jitted& f, const std::string& name) {
  std::cout << examine::fusion_report(f, name);
  std::istringstream source(examine::kernel_source(f, name));
  for (std::string line; std::getline(source, line);) std::cout << "  " << line << '\n';
}

std::string rows_json(const std::vector<examine::Report::Row>& rows) {
  std::string out;
  for (const examine::Report::Row& row : rows)
    out += (out.empty() ? "" : ", ") + ("{\"name\": " + json::quote(row.name)) +
           ", \"count\": " + std::to_string(row.count) + ", \"microseconds\": " + json::number(row.microseconds) +
           ", \"bytes\": " + std::to_string(row.bytes) + ", \"operations\": " + std::to_string(row.operations) + "}";
  return "[" + out + "]";
}

void print_json(const examine::Report& report) {
  std::printf("{\"step\": %s, \"plain_step\": %s, \"in_lines\": %s, \"operators\": %s, \"sources\": %s}\n",
              json::number(report.step).c_str(), json::number(report.plain_step).c_str(),
              json::number(report.in_lines()).c_str(), rows_json(report.by_operator()).c_str(),
              rows_json(report.by_user_line()).c_str());
}

// The destinations of a profile: stdout, a page, a file of trace events.
struct ProfileOutputs {
  bool prints = false, prints_json = false;
  std::string page, chrome;
};

void show_profile(const Example& example, const std::string& model, const examine::ProfileOptions& options,
                  const ProfileOutputs& outputs) {
  const examine::Report report = examine::profile_step(example.function, example.step, options);
  if (outputs.prints_json) print_json(report);
  else if (outputs.prints) std::cout << report;
  if (!outputs.page.empty()) examine::write_html(example.function, outputs.page, {.title = model, .profile = &report});
  if (outputs.chrome.empty()) return;
  write_file(outputs.chrome, report.chrome_trace());
}

}  // namespace

int examine(const std::vector<std::string>& arguments) {
  Subject subject;
  std::string fusion, executors, page, chrome, dtype = "f32";
  bool memory = false, profile = false, supported = false, as_json = false;
  int64_t threads = 0;
  double seconds = 1;
  Flags flags(
      "fulgurite examine MODEL [--library FILE] [--fusion NAME | --memory | --supported | --profile | --html FILE | "
      "--chrome FILE] [--dtype f32|bf16] [--executors LIST] [--json]",
      {"fulgurite examine mlp", "fulgurite examine gpt12l --profile --seconds 3",
       "fulgurite examine gpt12l --html gpt12l.html"});
  flags.positional("MODEL", subject.name, example_models);
  flags.text("library", "FILE", subject.library, library_help);
  flags.choice("dtype", dtype, {"f32", "bf16"}, dtype_help);
  flags.text("fusion", "NAME", fusion, "this fusion alone, with its kernel");
  flags.toggle("memory", memory, "bytes alive after each op, forward and backward");
  flags.toggle("profile", profile,
               "time, bytes and share of the machine's limit beside each op; tables; what is alive at the peak");
  flags.toggle("supported", supported,
               "its operators with the executors that run them, and everything that is not supported");
  flags.text("html", "FILE", page,
             "writes a page to look around in: every stage, cost, kernels, your code; it loads nothing");
  flags.text("chrome", "FILE", chrome, "writes a profile that Perfetto and chrome://tracing open");
  flags.number("seconds", seconds, 0, 3600, "how long to measure for a profile, about");
  flags.integer("threads", threads, 0, 1024, "threads; 0: the CPUs there are");
  flags.text("executors", "LIST", executors,
             "executors, separated by commas; the default list otherwise, with everything fused that can be");
  flags.toggle("json", as_json, "one JSON object: fusions, or with --profile the tables, times in microseconds");
  if (!flags.parse(arguments)) return 0;
  if (subject.name.empty()) throw WrongUse("a model is missing; see --help");
  const bool measures = profile || !page.empty() || !chrome.empty();
  if (memory + supported + measures + !fusion.empty() > 1)
    throw WrongUse("give one of --fusion, --memory, --supported and a profile");
  if (as_json && (memory || supported)) throw WrongUse("--json goes with neither --memory nor --supported");
  if (threads > 0) set_num_threads(static_cast<int>(threads));
  const JitOptions options = with_executors(executors, dtype);
  if (supported) {
    std::cout << examine::supported_body(make_example(subject, {.autocast = options.autocast}).step);
    return 0;
  }
  if (measures) {
    show_profile(make_example(subject, options, true), subject.name, {.seconds = seconds},
                 {profile, profile && as_json, page, chrome});
    return 0;
  }
  const Jitted f = run_example(subject, options, true);
  if (!fusion.empty()) check_fusion(f, subject.name, fusion);
  const std::vector<std::string> names = fusion.empty() ? examine::fusion_names(f) : std::vector<std::string>{fusion};
  if (as_json) {
    print_json(f, names);
    return 0;
  }
  if (memory) {
    std::cout << examine::memory(last_traces(f).back()) << '\n' << examine::memory(last_backward_traces(f).back());
    return 0;
  }
  if (!fusion.empty()) {
    print_fusion(f, fusion);
    return 0;
  }
  for (const std::string& name : names) std::cout << examine::fusion_report(f, name);
  if (names.empty()) std::cout << "no fusions\n";
  return 0;
}

int repro(const std::vector<std::string>& arguments) {
  Subject subject;
  std::string fusion, out, executors, dtype = "f32";
  int64_t first = 0, last = 0, seed = 0;
  bool backward = false, python = false;
  Flags flags(
      "fulgurite repro MODEL [--library FILE] (--fusion NAME | --first I --last J [--backward]) [--dtype f32|bf16] "
      "[--python] [--seed N] [--out FILE]",
      {"fulgurite repro mlp --fusion fusion0 --out fusion0.cpp", "fulgurite repro mlp --first 0 --last 3 --python"});
  flags.positional("MODEL", subject.name, example_models);
  flags.text("library", "FILE", subject.library, library_help);
  flags.choice("dtype", dtype, {"f32", "bf16"}, dtype_help);
  flags.text("fusion", "NAME", fusion, "a fusion, as fulgurite examine names it");
  flags.integer("first", first, 0, 1'000'000, "instead: lines from this one");
  flags.integer("last", last, 0, 1'000'000, "... to before this one, of the trace that ran");
  flags.toggle("backward", backward, "lines of the backward");
  flags.toggle("python", python, "a Python program for PyTorch, not C++");
  flags.integer("seed", seed, 0, 0x7fffffff, "of the inputs");
  flags.text("out", "FILE", out, "the file to write; printed otherwise");
  flags.text("executors", "LIST", executors, "executors, separated by commas; the default list otherwise");
  if (!flags.parse(arguments)) return 0;
  if (subject.name.empty()) throw WrongUse("a model is missing; see --help");
  if (fusion.empty() != flags.was_given("last")) throw WrongUse("give one of --fusion, and --first with --last");
  const Jitted f = run_example(subject, with_executors(executors, dtype), true);
  if (!fusion.empty()) check_fusion(f, subject.name, fusion);
  examine::ReproOptions options;
  if (python) options.language = examine::ReproOptions::Language::python;
  options.seed = static_cast<uint64_t>(seed);
  const auto stage = backward ? examine::Stage::backward : examine::Stage::forward;
  const std::string program = fusion.empty()
                                  ? examine::repro(f, static_cast<int>(first), static_cast<int>(last), stage, options)
                                  : examine::repro(f, fusion, options);
  if (out.empty()) {
    std::cout << program;
    return 0;
  }
  write_file(out, program);
  return 0;
}

int explain(const std::vector<std::string>& arguments) {
  Subject subject;
  Flags flags("fulgurite explain MODEL [--library FILE]", {"fulgurite explain gpt"});
  flags.positional("MODEL", subject.name, example_models);
  flags.text("library", "FILE", subject.library, library_help);
  if (!flags.parse(arguments)) return 0;
  if (subject.name.empty()) throw WrongUse("a model is missing; see --help");
  std::istringstream lines(fulgurite::explain(run_example(subject)));
  for (std::string line; std::getline(lines, line);) std::cout << text::wrap(line, report_width, 4) << '\n';
  return 0;
}

}  // namespace fulgurite::cli
