// Many threads call many jitted functions simultaneously, with hits, misses, evictions and gradients, and every result
// is compared with that of a single thread. usage: stress_calls [--threads 16] [--calls 20000] [--functions 50] [--seed
// 1]. Ends with `N calls, N wrong`; 1 when any is, or a key was compiled twice without an eviction between.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fulgurite/fulgurite.h>

namespace fulgurite {

namespace {

constexpr int64_t keys = 8;  // sizes that each function is called with, with a gradient and without
constexpr int64_t few = 12;  // versions that some functions keep

/// How often a function is being recorded now for a key, without and with a gradient, and has been.
struct Recorded {
  std::atomic<int> now[2 * (keys + 1)]{}, times[2 * (keys + 1)]{};
  std::atomic<bool> at_once{false};

  class Scope {
   public:
    Scope(Recorded& recorded, size_t key) : now_(recorded.now[key]) {
      if (++now_ > 1) recorded.at_once = true;
      ++recorded.times[key];
    }
    ~Scope() { --now_; }

   private:
    std::atomic<int>& now_;
  };
};

/// Returns the results of a key's call as numbers, with gradients if requested.
using Call = std::function<std::vector<float>(int64_t key, bool with_gradient)>;

struct Function {
  Call call;
  std::shared_ptr<Recorded> recorded = std::make_shared<Recorded>();
  std::function<CacheStats()> stats;
  std::function<std::string()> explained;
  bool keeps_all = true, body_runs_once = true, is_symbolic = false;
};

Tensor input_of(int64_t key, bool with_gradient) {
  Tensor x = sin(arange(2 * key, {.dtype = Dtype::f32})).reshape({2, key});
  return with_gradient ? x.requires_grad_() : x;
}

void append(std::vector<float>& out, const Tensor& t) {
  const std::vector<float> numbers = t.detach().contiguous().to_vector<float>();
  out.insert(out.end(), numbers.begin(), numbers.end());
}

template <class F>
Call call_of(const F& f) {
  return [f](int64_t key, bool with_gradient) {
    const Tensor x = input_of(key, with_gradient);
    const Tensor y = f(x);
    std::vector<float> out;
    append(out, y);
    append(out, x);
    if (!with_gradient || !y.requires_grad()) return out;
    const Tensor loss = sum(y * y);
    append(out, autograd::grad({loss}, {x})[0]);
    return out;
  };
}

template <class Body>
Function make(Body body, bool keeps_all, bool is_symbolic, bool body_runs_once = true) {
  Function function;
  const std::shared_ptr<Recorded> recorded = function.recorded;
  JitOptions options;
  if (is_symbolic) options.cache = Cache::symbolic_values;
  options.limits.warn_after = 0;
  options.limits.traces = 2;
  if (!keeps_all) {
    options.limits.versions = few;
    options.limits.sets_of_values = few;
  }
  const auto f = jit(
      [recorded, body, body_runs_once](Tensor x) {
        const Recorded::Scope scope(*recorded,
                                    body_runs_once ? static_cast<size_t>(2 * x.size(1).hint() + x.requires_grad()) : 0);
        return body(x);
      },
      options);
  function.call = call_of(f);
  function.stats = [f] { return cache_stats(f); };
  function.explained = [f] { return explain(f) + std::to_string(last_traces(f).size()); };
  function.keeps_all = keeps_all;
  function.is_symbolic = is_symbolic;
  function.body_runs_once = body_runs_once;
  return function;
}

Function make_function(int number) {
  const double scale = 1 + number / 10.0;
  const bool keeps_all = number % 2 == 0, is_symbolic = number / 2 % 2 == 1;
  const Tensor weight = cos(arange(4, {.dtype = Dtype::f32}) * scale).reshape({2, 2});
  switch (number % 5) {
    case 0: return make([scale](Tensor x) { return tanh(x * scale) + exp(x); }, keeps_all, is_symbolic);
    case 1: return make([weight](Tensor x) { return softmax(matmul(weight, x), 1); }, keeps_all, is_symbolic);
    case 2:
      return make(
          [scale](Tensor x) {
            const Tensor y = x * scale;
            y(0).add_(1);
            return y * x;
          },
          keeps_all, is_symbolic);
    case 3:
      return make(
          [scale](Tensor x) {
            const Tensor y = x * scale;
            graph_break();
            return y.sum() > 0 ? y * x : y + x;
          },
          keeps_all, is_symbolic, false);
    default: break;
  }
  const auto loss = [scale](Tensor x) { return sum(x * x * scale); };
  return make([loss](Tensor x) { return grad(loss)(x.detach()) + x; }, keeps_all, is_symbolic);
}

/// Lines of explain() with the guards of an entry; symbolic entries are valid for more than these.
bool has_twins(const std::string& explained) {
  std::set<std::string> seen;
  for (size_t at = explained.find("  holds for: "); at != std::string::npos;
       at = explained.find("  holds for: ", at + 1))
    if (!seen.insert(explained.substr(at, explained.find("  captured: ", at) - at)).second) return true;
  return false;
}

struct Options {
  int threads = 16, calls = 20000, functions = 50;
  uint32_t seed = 1;
};

int run(const Options& options) {
  std::vector<Function> functions, references;
  for (int i = 0; i < options.functions; ++i) {
    functions.push_back(make_function(i));
    references.push_back(make_function(i));
  }
  // [function][key][with gradient]
  std::vector<std::vector<std::vector<float>>> expected;
  for (Function& reference : references) {
    expected.emplace_back();
    for (int64_t key = 1; key <= keys; ++key)
      for (const bool with_gradient : {false, true}) expected.back().push_back(reference.call(key, with_gradient));
  }

  std::atomic<long> wrong{0};
  std::mutex printing;
  const auto report = [&](const std::string& what) {
    ++wrong;
    const std::lock_guard lock(printing);
    std::printf("%s\n", what.c_str());
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < options.threads; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 draw(options.seed + static_cast<uint32_t>(t));
      for (int call = 0; call < options.calls; ++call) {
        const size_t which = draw() % functions.size();
        const auto key = static_cast<int64_t>(1 + draw() % keys);
        const bool with_gradient = draw() % 2 == 0;
        try {
          if (functions[which].call(key, with_gradient) !=
              expected[which][static_cast<size_t>(2 * (key - 1) + with_gradient)])
            report("function " + std::to_string(which) + ", key " + std::to_string(key) + ": a wrong result");
          if (t == 0 && call % 500 == 0 && functions[which].body_runs_once && has_twins(functions[which].explained()))
            report("function " + std::to_string(which) + " keeps two versions for one key");
        } catch (const std::exception& error) {
          report("function " + std::to_string(which) + ", key " + std::to_string(key) + ": " + error.what());
        }
      }
    });
  for (std::thread& thread : threads) thread.join();

  int64_t compiles = 0, evicted = 0;
  for (size_t i = 0; i < functions.size(); ++i) {
    Function& function = functions[i];
    const CacheStats stats = function.stats();
    evicted += stats.evicted;
    compiles += stats.versions + stats.evicted;
    if (!function.body_runs_once) continue;
    if (function.recorded->at_once && !function.is_symbolic)
      report("function " + std::to_string(i) + ": a key was compiled by two threads at once");
    if (has_twins(function.explained())) report("function " + std::to_string(i) + " keeps two versions for one key");
    for (const std::atomic<int>& times : function.recorded->times)
      if (function.keeps_all && times > 1)
        report("function " + std::to_string(i) + ": a key that was never evicted was compiled twice");
  }
  std::printf("%d functions, %lld compiles, %lld evictions\n", options.functions, static_cast<long long>(compiles),
              static_cast<long long>(evicted));
  std::printf("%ld calls, %ld wrong\n", static_cast<long>(options.threads) * options.calls, wrong.load());
  return wrong == 0 ? 0 : 1;
}

}  // namespace

}  // namespace fulgurite

int main(int argc, char** argv) {
  fulgurite::Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    const int value = std::atoi(argv[i + 1]);
    if (flag == "--threads") options.threads = value;
    else if (flag == "--calls") options.calls = value;
    else if (flag == "--functions") options.functions = value;
    else if (flag == "--seed") options.seed = static_cast<uint32_t>(value);
    else return std::fprintf(stderr, "usage: stress_calls [--threads N] [--calls N] [--functions N] [--seed N]\n"), 2;
  }
  if (options.threads < 1 || options.functions < 1) return 2;
  return fulgurite::run(options);
}
