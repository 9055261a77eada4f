#include "codegen/host_compiler/compile_kernels.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "codegen/host_compiler/compiler_process.h"
#include "codegen/host_compiler/host_compiler.h"
#include "codegen/host_compiler/kernel_header.h"
#include "codegen/host_compiler/library_cache.h"
#include "support/base/sanitizers.h"
#include "support/base/sha256.h"
#include "support/context.h"
#include "support/environment.h"
#include "support/log.h"
#include "support/text/text.h"

namespace fulgurite::codegen {

namespace {

using kernels::KernelFunction;

// The flags that the eager kernels are compiled with.
std::vector<std::string> flags_of(Instructions instructions) {
  const InstructionSet set = instructions.set;
  std::vector<std::string> flags{"-std=c++20",        "-O2",
                                 "-fno-math-errno",   "-fno-trapping-math",
                                 "-ffp-contract=off", "-fno-exceptions",
                                 "-fno-rtti",         "-fPIC",
                                 "-shared",           "-w"};
#ifdef FULGURITE_ADDRESSES_CHECKED
  flags.push_back("-fsanitize=address");  // the process has the sanitizer, so generated kernels are checked too
  // The stack arrays of kernels have sizes that do not depend on inputs; checking them makes compilation ten times as
  // slow.
  for (const char* more : {"--param", "asan-stack=0"}) flags.emplace_back(more);
#endif
  if (set == InstructionSet::avx2) flags.emplace_back("-march=x86-64-v3");
  if (set >= InstructionSet::avx512) {
    flags.emplace_back("-march=x86-64-v4");
    flags.emplace_back("-mprefer-vector-width=512");
  }
  if (set == InstructionSet::avx512_bf16) flags.emplace_back("-mavx512bf16");
  if (instructions.has_amx)
    for (const char* unit : {"-mamx-tile", "-mamx-bf16"}) flags.emplace_back(unit);
  return flags;
}

std::string joined(const std::vector<std::string>& words) {
  return text::join(
      words, [](const std::string& word) { return word; }, " ");
}

}  // namespace

/// The kernels of this process whose libraries are open.
class CompiledKernels {
 public:
  std::vector<CompiledKernel> get(std::span<const KernelSource> sources, Instructions instructions) {
    Libraries held;  // closed after the mutexes are released
    const std::lock_guard lock(mutex_);
    for (const bool is_scalar : {false, true}) {
      std::vector<const KernelSource*> missing = missing_of(sources, instructions, is_scalar, held);
      std::erase_if(missing, [&](const KernelSource* source) { return reload(*source, instructions, held); });
      if (!missing.empty() && !compile(missing, instructions, held)) return {};
    }
    std::vector<CompiledKernel> out;
    const std::lock_guard functions_lock(functions_mutex_);
    for (const KernelSource& source : sources) {
      const Loaded& loaded = functions_.at(key_of(source, instructions));
      out.push_back({loaded.function, loaded.library.lock()});
    }
    return out;
  }

 private:
  /// An open library, which forgets its kernels when it is closed.
  class Library {
   public:
    Library(CompiledKernels& all, void* handle) : all_(all), handle_(handle) {}
    ~Library() {
      all_.forget(keys);
      dlclose(handle_);
    }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    std::vector<std::string> keys;

   private:
    CompiledKernels& all_;
    void* handle_;
  };
  using Libraries = std::vector<std::shared_ptr<const Library>>;
  struct Loaded {
    KernelFunction function;
    std::weak_ptr<const Library> library;
  };

  // Another library may have been loaded for a key since.
  void forget(const std::vector<std::string>& keys) {
    const std::lock_guard lock(functions_mutex_);
    for (const std::string& key : keys)
      if (const auto found = functions_.find(key); found != functions_.end() && found->second.library.expired())
        functions_.erase(found);
  }

  // Those of one header, each once.
  std::vector<const KernelSource*> missing_of(std::span<const KernelSource> sources, Instructions instructions,
                                              bool is_scalar, Libraries& held) const {
    std::vector<const KernelSource*> missing;
    std::unordered_set<std::string> seen;
    const std::lock_guard lock(functions_mutex_);
    for (const KernelSource& source : sources)
      if (source.is_scalar == is_scalar && !is_open(source, instructions, held) &&
          seen.insert(source.plain_text).second)
        missing.push_back(&source);
    return missing;
  }
  bool is_open(const KernelSource& source, Instructions instructions, Libraries& held) const {
    const auto found = functions_.find(key_of(source, instructions));
    std::shared_ptr<const Library> library = found == functions_.end() ? nullptr : found->second.library.lock();
    if (library) held.push_back(std::move(library));
    return found != functions_.end() && !found->second.library.expired();
  }

  static std::string key_of(const KernelSource& source, Instructions instructions) {
    return text::cat(static_cast<int>(instructions.set), instructions.has_amx ? " unit " : " ", source.plain_text);
  }

  /// Kernels that are compiled together.
  struct Unit {
    std::vector<const KernelSource*> sources;
    std::string text, digest, path, distrust, problem;
    bool is_compiler_unusable = false;
  };

  /// A kernel that this process has compiled: the unit in the cache, and its name there.
  struct Compiled {
    std::string digest, name;
  };
  static constexpr size_t max_compiled = 4096;

  void note_compiled(const Unit& unit, Instructions instructions) {
    if (compiled_.size() > max_compiled) compiled_.clear();
    for (const KernelSource* source : unit.sources)
      compiled_[sha256(key_of(*source, instructions))] = {unit.digest, source->name};
  }

  // A kernel whose library was closed comes from the same one again: which units are compiled does not depend on what
  // is open.
  bool reload(const KernelSource& source, Instructions instructions, Libraries& held) {
    const auto known = compiled_.find(sha256(key_of(source, instructions)));
    if (known == compiled_.end()) return false;
    std::string problem;
    const std::string path = LibraryCache(default_cache_folder()).find(known->second.digest, problem);
    KernelSource compiled = source;
    compiled.name = known->second.name;
    if (!path.empty() && load(path, {&compiled}, instructions, held, problem)) return true;
    compiled_.erase(known);
    return false;
  }

  void warn(std::string_view what) {
    if (has_warned_) return;
    has_warned_ = true;
    const std::string message =
        text::cat("fulgurite: no kernels are generated, operators run one by one: ", what, "\n");
    std::fputs(message.c_str(), stderr);
  }
  bool fail(const std::string& digest, std::string_view what) {
    failed_.insert(digest);
    if (logs(LogChannel::fusions)) log(LogChannel::fusions, what);
    warn(what);
    return false;
  }

  // An even number of units of a few kernels and of about the same length, for parallel compilation. The division
  // depends on the kernels alone, because the cache does.
  static std::vector<Unit> units_of(const std::vector<const KernelSource*>& sources) {
    constexpr size_t most = 6;
    std::vector<Unit> units(sources.size() == 1 ? 1 : 2 * ((sources.size() + 2 * most - 1) / (2 * most)));
    std::vector<size_t> lengths(units.size(), 0), unit_of(sources.size()), longest_first(sources.size());
    std::iota(longest_first.begin(), longest_first.end(), size_t{0});
    std::stable_sort(longest_first.begin(), longest_first.end(),
                     [&](size_t a, size_t b) { return sources[a]->text.size() > sources[b]->text.size(); });
    for (const size_t i : longest_first) {
      unit_of[i] = static_cast<size_t>(std::min_element(lengths.begin(), lengths.end()) - lengths.begin());
      lengths[unit_of[i]] += sources[i]->text.size();
    }
    for (size_t i = 0; i < sources.size(); ++i) units[unit_of[i]].sources.push_back(sources[i]);
    std::erase_if(units, [](const Unit& unit) { return unit.sources.empty(); });
    for (Unit& unit : units) {
      bool is_wide = false, has_angles = false, is_gemm = false;
      std::string functions;
      for (const KernelSource* source : unit.sources) {
        is_wide = is_wide || source->is_wide;
        has_angles = has_angles || source->has_angles;
        is_gemm = is_gemm || source->is_gemm;
        functions += text::cat("\n", source->text);
      }
      const std::string header =
          unit.sources[0]->is_scalar ? scalar_kernel_header() : kernel_header(is_wide, has_angles, is_gemm);
      unit.text = text::cat(header, "\nusing namespace fulgurite::kernels;\n", functions);
    }
    return units;
  }

  bool compile(const std::vector<const KernelSource*>& sources, Instructions instructions, Libraries& held) {
    std::vector<Unit> units = units_of(sources);
    const HostCompiler compiler = find_host_compiler();
    const std::vector<std::string> flags = flags_of(instructions);
    for (Unit& unit : units) {
      unit.digest = sha256(text::cat(compiler.identity, "\n", joined(flags), "\n", unit.text));
      if (failed_.contains(unit.digest)) return false;
    }
    if (compiler.path.empty()) {
      const auto wanted = environment_value("FULGURITE_CXX");
      return fail(units[0].digest, wanted ? text::cat("FULGURITE_CXX=", *wanted, " is not an executable")
                                          : "there is no g++ and no clang++; set FULGURITE_CXX");
    }
    if (compiler.identity == unusable_) return false;
    const LibraryCache cache(default_cache_folder());
    std::vector<Unit*> missing;
    for (Unit& unit : units) {
      unit.path = cache.find(unit.digest, unit.distrust);
      if (unit.path.empty() || !load(unit.path, unit.sources, instructions, held, unit.distrust))
        missing.push_back(&unit);
      else note_compiled(unit, instructions);
    }
    build(compiler, flags, cache, missing);
    for (Unit* unit : missing) {
      if (unit->is_compiler_unusable) unusable_ = compiler.identity;
      if (unit->path.empty()) return fail(unit->digest, unit->problem);
      if (!load(unit->path, unit->sources, instructions, held, unit->problem)) {
        unlink(unit->path.c_str());
        return fail(unit->digest, unit->problem);
      }
      note_compiled(*unit, instructions);
      if (!unit->distrust.empty()) warn_of_cache(unit->distrust);
    }
    return true;
  }

  // Compiles as many units in parallel as there are CPUs.
  static void build(const HostCompiler& compiler, const std::vector<std::string>& flags, const LibraryCache& cache,
                    const std::vector<Unit*>& units) {
    std::atomic<size_t> next{0};
    const auto work = [&] {
      for (size_t i = next.fetch_add(1); i < units.size(); i = next.fetch_add(1))
        build(compiler, flags, cache, *units[i]);
    };
    std::vector<std::thread> helpers;
    const size_t workers = std::min<size_t>(units.size(), std::max(1u, std::thread::hardware_concurrency()));
    try {
      while (helpers.size() + 1 < workers) helpers.emplace_back(work);
    } catch (const std::system_error&) {
      // This thread compiles the rest.
    }
    work();
    for (std::thread& helper : helpers) helper.join();
  }

  // A cache file that cannot be trusted is rebuilt.
  void warn_of_cache(std::string_view problem) {
    if (has_warned_of_cache_) return;
    has_warned_of_cache_ = true;
    const std::string message = text::cat("fulgurite: a compiled kernel is not used: ", problem, "\n");
    std::fputs(message.c_str(), stderr);
  }

  static void build(const HostCompiler& compiler, const std::vector<std::string>& flags, const LibraryCache& cache,
                    Unit& unit) {
    unit.path.clear();
    const std::string source = cache.new_file(".cpp", unit.problem);
    if (source.empty()) return;
    const std::string library = cache.new_file(".so", unit.problem);
    if (!library.empty() && write(source, unit.text, unit.problem) && run(compiler, flags, source, library, unit))
      unit.path = cache.store(library, unit.digest, unit.problem);
    unlink(source.c_str());
    if (!library.empty() && unit.path.empty()) unlink(library.c_str());
  }

  static bool write(const std::string& path, const std::string& content, std::string& problem) {
    std::FILE* file = std::fopen(path.c_str(), "we");
    const bool is_written = file != nullptr && std::fwrite(content.data(), 1, content.size(), file) == content.size();
    const bool is_closed = file != nullptr && std::fclose(file) == 0;
    if (!is_written || !is_closed) problem = text::cat("cannot write ", path, ": ", std::strerror(errno));
    return is_written && is_closed;
  }

  static bool run(const HostCompiler& compiler, const std::vector<std::string>& flags, const std::string& source,
                  const std::string& library, Unit& unit) {
    std::vector<std::string> arguments{compiler.path};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    for (const char* more : {"-x", "c++", source.c_str(), "-o", library.c_str()}) arguments.emplace_back(more);
    arguments.emplace_back("-lm");
    // Sanitized kernels take longer.
    const auto seconds =
        static_cast<double>(environment_number("FULGURITE_COMPILE_SECONDS").value_or(address_is_sanitized ? 600 : 60));
    const ProcessResult result = run_process(arguments, seconds);
    using End = ProcessResult::End;
    if (result.end == End::exited && result.status == 0) return true;
    std::string errors = result.errors.substr(0, 1000);
    while (errors.ends_with('\n')) errors.pop_back();
    // A compiler that hung would take as long again.
    unit.is_compiler_unusable = result.end == End::timed_out || result.end == End::not_started;
    if (result.end == End::timed_out)
      unit.problem = text::cat(compiler.path, " took more than ", seconds, " seconds and was ended");
    else if (result.end == End::not_started)
      unit.problem = text::cat(compiler.path, " cannot be started: ", std::strerror(result.status));
    else
      unit.problem =
          text::cat(compiler.path, result.end == End::killed ? " was ended by signal " : " ended with status ",
                    result.status, errors.empty() ? "" : ": ", errors);
    return false;
  }

  bool load(const std::string& path, const std::vector<const KernelSource*>& sources, Instructions instructions,
            Libraries& held, std::string& problem) {
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    std::vector<KernelFunction> found;
    for (const KernelSource* source : sources)
      if (void* const function = library ? dlsym(library, source->name.c_str()) : nullptr)
        found.push_back(reinterpret_cast<KernelFunction>(function));
    if (found.size() != sources.size()) {
      const char* error = dlerror();
      problem = text::cat("cannot load ", path, ": ", error != nullptr ? error : "a function is missing");
      if (library) dlclose(library);
      return false;
    }
    const auto loaded = std::make_shared<Library>(*this, library);
    held.push_back(loaded);
    const std::lock_guard lock(functions_mutex_);
    for (size_t i = 0; i < sources.size(); ++i) {
      loaded->keys.push_back(key_of(*sources[i], instructions));
      functions_.insert_or_assign(loaded->keys.back(), Loaded{found[i], loaded});
    }
    return true;
  }

  // A function may be dropped while another is compiled, which takes long: the table has a mutex of its own.
  mutable std::mutex functions_mutex_;
  std::unordered_map<std::string, Loaded> functions_;
  std::mutex mutex_;                                    // guards the members below
  std::unordered_map<std::string, Compiled> compiled_;  // by the digests of keys
  std::unordered_set<std::string> failed_;              // digests of units
  std::string unusable_;                                // the compiler that hung or could not be started
  bool has_warned_ = false, has_warned_of_cache_ = false;
};

InstructionSet best_instruction_set() {
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  return avx512 ? InstructionSet::avx512 : avx2 ? InstructionSet::avx2 : InstructionSet::baseline;
#else
  return InstructionSet::baseline;
#endif
}

std::vector<CompiledKernel> compile_kernels(std::span<const KernelSource> sources, Instructions instructions) {
  return context().compiled_kernels.get().get(sources, instructions);
}

}  // namespace fulgurite::codegen
