#ifdef FULGURITE_ONEDNN
#include <atomic>

#include "executors/onednn/convolution_bands.h"
#include "executors/onednn/pointwise_convolution.h"
#include "runtime/copy_elements.h"
#include "runtime/threads/parallel_for.h"

// The gradients of convolutions' weights. Each task sums over fixed samples for some channels, serially; the sums of
// tasks are then added in order, so that results do not depend on the threads.
namespace fulgurite {

namespace {

/// The division of the pass: a function of the sizes alone.
struct Cut {
  int64_t samples, chunks;  // of a chunk; chunks of the batch
  int64_t groups, parts;    // of chunks that are added up by one task; parts of the channels
};

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// A number of groups in which all have equally many chunks, if it is less than twice the wanted one: tasks of
/// different lengths leave threads idle.
int64_t even_groups(int64_t chunks, int64_t wanted) {
  for (int64_t groups = wanted; groups < 2 * wanted; ++groups)
    if (chunks % groups == 0) return groups;
  return wanted;
}

Cut cut(const ConvolutionCall& call) {
  constexpr int64_t max_weight = 1 << 18, wanted_tasks = 8;
  constexpr double enough = 1e7;  // operations
  // Adding up partial sums costs as much as some windows.
  constexpr int64_t positions_of_chunk = 1024, positions_of_task = 2048;
  const int64_t samples = call.samples(), positions = std::max<int64_t>(1, call.positions()),
                weight = call.weight.impl()->numel();
  Cut c{1, 1, 1, call.parts_for_cache(weight, max_weight / 8, 1, wanted_tasks)};
  if (call.groups > 1) {  // which are divided among threads at no cost
    const int64_t elements = call.source.impl()->numel(), max_elements = ConvolutionCall::max_cached_source;
    c.parts = call.parts_for_cache(elements, max_elements, c.parts, wanted_tasks);
    c.parts = call.parts_for_cache(elements / samples, max_elements, c.parts);
  }
  const double work = std::max(1.0, call.work() / static_cast<double>(c.parts));
  const int64_t by_work = 1 + static_cast<int64_t>(std::min(1e9, enough / work));
  c.samples = std::min(samples, std::max(by_work, divide_up(positions_of_chunk, positions)));
  c.chunks = divide_up(samples, c.samples);
  c.groups = even_groups(c.chunks, std::clamp<int64_t>(samples * positions / positions_of_task, 1,
                                                       std::min(c.chunks, divide_up(wanted_tasks, c.parts))));
  return c;
}

void add(float* to, const float* more, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] += more[i];
}

class WeightRun {
 public:
  explicit WeightRun(const ConvolutionCall& call) : call_(call), cut_(cut(call)) {}

  bool run() {
    {
      const SerialScope serial;
      if (!plan_.create(call_, cut_.samples, cut_.parts)) return false;
      if (has_rest() && !rest_.create(call_, call_.samples() % cut_.samples, cut_.parts, &plan_)) return false;
    }
    const LibraryBlock sums(static_cast<size_t>(cut_.groups * cut_.parts) * plan_.weight.bytes());
    sums_ = sums.data();
    add_samples();
    if (cut_.groups > 1) join();
    write();
    return is_done_;
  }

 private:
  bool has_rest() const { return call_.samples() % cut_.samples != 0; }
  int64_t elements() const { return static_cast<int64_t>(plan_.weight.bytes() / sizeof(float)); }
  float* sum_of(int64_t group, int64_t part) const {
    return reinterpret_cast<float*>(sums_) + (group * cut_.parts + part) * elements();
  }
  bool is_small() const { return call_.work() * static_cast<double>(call_.samples()) < 4e5; }

  void add_samples() {
    const int64_t tasks = cut_.groups * cut_.parts;
    parallel_ranges(tasks, is_small() ? tasks + 1 : 1, [&](Ranges& ranges) {
      const SerialScope serial;
      const LibraryBlock source(plan_.source.is_direct() ? 0 : plan_.source.bytes());
      const LibraryBlock destination(plan_.destination.is_direct() ? 0 : plan_.destination.bytes());
      const LibraryBlock more(cut_.chunks > cut_.groups ? plan_.weight.bytes() : 0);
      for (int64_t begin, end; ranges.next(begin, end);)
        for (int64_t task = begin; task < end; ++task)
          if (!add_chunks(task / cut_.parts, task % cut_.parts, {source.data(), destination.data(), more.data()}))
            is_done_ = false;
    });
  }

  struct Memory {
    void *source, *destination, *more;
  };
  bool add_chunks(int64_t group, int64_t part, const Memory& memory) const {
    const int64_t first = group * cut_.chunks / cut_.groups, last = (group + 1) * cut_.chunks / cut_.groups;
    float* const sum = sum_of(group, part);
    for (int64_t chunk = first; chunk < last; ++chunk) {
      if (!compute(chunk, part, memory, chunk == first ? sum : memory.more)) return false;
      if (chunk > first) add(sum, static_cast<const float*>(memory.more), elements());
    }
    return true;
  }
  bool compute(int64_t chunk, int64_t part, const Memory& memory, void* result) const {
    const LibraryConvolution& plan = has_rest() && chunk == cut_.chunks - 1 ? rest_ : plan_;
    const int64_t sample = chunk * cut_.samples;
    void *source = plan.source_at(sample, part), *destination = plan.destination_at(sample, part);
    if (!plan.source.is_direct()) {
      if (!plan.source.convert(source, memory.source)) return false;
      source = memory.source;
    }
    if (!plan.destination.is_direct()) {
      if (!plan.destination.convert(destination, memory.destination)) return false;
      destination = memory.destination;
    }
    return plan.run(source, result, destination, part);
  }

  /// Adds the sums of all groups, in order, to those of the first.
  void join() {
    constexpr int64_t block = 4096;
    const int64_t count = cut_.parts * elements();
    parallel_for(divide_up(count, block), 4, [&](int64_t begin, int64_t end) {
      const int64_t first = begin * block, size = std::min(end * block, count) - first;
      for (int64_t group = 1; group < cut_.groups; ++group) add(sum_of(0, 0) + first, sum_of(group, 0) + first, size);
    });
  }
  void write() {
    parallel_for(cut_.parts, elements() < 16384 ? cut_.parts + 1 : 1, [&](int64_t begin, int64_t end) {
      const SerialScope serial;
      for (int64_t part = begin; part < end; ++part)
        if (!plan_.weight.convert(plan_.weight_at(part), sum_of(0, part))) is_done_ = false;
    });
  }

  const ConvolutionCall& call_;
  const Cut cut_;
  LibraryConvolution plan_, rest_;
  char* sums_ = nullptr;
  std::atomic<bool> is_done_ = true;
};

/// Computes the sums of each band in f32, and adds them up in order.
bool add_bands(const ConvolutionCall& call, const std::vector<ConvolutionCall>& bands) {
  std::vector<Tensor> sums;
  for (size_t band = 0; band < bands.size(); ++band) sums.push_back(make_tensor(call.weight.impl()->sizes, Dtype::f32));
  std::atomic<bool> is_done = true;
  parallel_for(static_cast<int64_t>(bands.size()), 1, [&](int64_t begin, int64_t end) {
    const SerialScope serial;
    for (auto band = static_cast<size_t>(begin); band < static_cast<size_t>(end); ++band) {
      ConvolutionCall own = bands[band];
      own.weight = sums[band];
      if (!WeightRun(own).run()) is_done = false;
    }
  });
  float* const total = reinterpret_cast<float*>(sums[0].impl()->data());
  for (size_t band = 1; band < bands.size(); ++band)
    add(total, reinterpret_cast<const float*>(sums[band].impl()->data()), sums[0].impl()->numel());
  copy_elements(sums[0], call.weight);
  return is_done;
}

}  // namespace

bool run_convolution_weight(const ConvolutionCall& call) {
  if (!call.is_possible()) return false;
  if (is_pointwise_gemm(call)) return run_pointwise_gemm(call), true;
  const Cut whole = cut(call);
  // Adding up another sum costs as much as some windows.
  const int64_t by_windows = call.samples() * call.positions() / 512,
                count = std::min(band_count(call, whole.groups * whole.parts), by_windows);
  const std::vector<ConvolutionCall> bands = count > 1 ? bands_of(call, count) : std::vector<ConvolutionCall>();
  return bands.empty() ? WeightRun(call).run() : add_bands(call, bands);
}

}  // namespace fulgurite

#endif
