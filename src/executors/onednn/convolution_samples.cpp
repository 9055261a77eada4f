#ifdef FULGURITE_ONEDNN
#include <atomic>

#include "executors/onednn/convolution_bands.h"
#include "executors/onednn/pointwise_convolution.h"
#include "runtime/threads/parallel_for.h"

// Convolutions and the gradients of their inputs: chunks of some samples and some channels, each computed serially, so
// that results do not depend on the threads.
namespace fulgurite {

namespace {

/// The division of a pass: a function of the sizes alone.
struct Cut {
  int64_t samples, chunks, parts;  // of a chunk; chunks of the batch; parts of the channels
};

Cut cut(const ConvolutionCall& call) {
  // Elements of a part, so that it stays in the L2 cache; the implementations for channels last need that less.
  const bool keeps_weight = call.pass != ConvolutionCall::Pass::destination || !call.is_faster_with_channels_last();
  const int64_t max_weight = keeps_weight ? 1 << 18 : 5 << 18;
  constexpr double enough = 4e6;                     // operations of a chunk
  const double least = call.groups > 1 ? 1e6 : 4e6;  // operations of a part if there are few chunks
  constexpr int64_t enough_positions = 256;          // for which the weight is read once
  const int64_t samples = call.samples(), weight = call.weight.impl()->numel(),
                positions = std::max<int64_t>(1, call.positions());
  Cut c{1, 1, call.parts_for_cache(weight, max_weight, 1)};
  if (call.groups > 1)
    c.parts = call.parts_for_cache(call.source.impl()->numel() / samples, ConvolutionCall::max_cached_source, c.parts);
  // A single sample if that is enough work: some layers take oneDNN 2.6 a third longer for several.
  const double work = std::max(1.0, call.work() / static_cast<double>(c.parts));
  const int64_t by_work = 1 + static_cast<int64_t>(std::min(1e9, enough / work));
  const int64_t wanted = std::max(by_work, (enough_positions + positions - 1) / positions);
  c.chunks = std::max(std::min<int64_t>(samples, c.parts > 1 ? 1 : 2), (samples + wanted - 1) / wanted);
  c.samples = (samples + c.chunks - 1) / c.chunks;
  c.chunks = (samples + c.samples - 1) / c.samples;
  while (c.chunks * c.parts < 4 && call.can_halve(c.parts) &&
         call.work() * static_cast<double>(c.samples) / static_cast<double>(2 * c.parts) > least)
    c.parts *= 2;
  return c;
}

class SampleRun {
 public:
  explicit SampleRun(const ConvolutionCall& call)
      : call_(call), computes_source_(call.pass == ConvolutionCall::Pass::source), cut_(cut(call)) {}

  /// Computes the call; `first` is a prepared run of another band, or null, whose converted weight is used.
  bool run(const SampleRun* first = nullptr) { return prepare(first) && compute_all(); }

  /// Queries the library's preferred operand formats, and converts the weight.
  bool prepare(const SampleRun* first = nullptr) {
    const bool shares = first != nullptr && first->cut_.parts == cut_.parts;
    {
      const SerialScope serial;
      if (!plan_.create(call_, cut_.samples, cut_.parts, shares ? &first->plan_ : nullptr)) return false;
      if (has_rest() && !rest_.create(call_, call_.samples() % cut_.samples, cut_.parts, &plan_)) return false;
    }
    if (plan_.weight.is_direct()) return true;
    if (shares) converted_ = first->converted_;
    return shares || convert_weight();
  }

  bool compute_all() {
    const int64_t tasks = cut_.chunks * cut_.parts;
    const bool is_small = call_.work() * static_cast<double>(call_.samples()) < 4e5;
    parallel_ranges(tasks, is_small ? tasks + 1 : 1, [&](Ranges& ranges) {
      const SerialScope serial;
      const LibraryBlock read(read_operand(plan_).is_direct() ? 0 : read_operand(plan_).bytes());
      const LibraryBlock written(written_operand(plan_).is_direct() ? 0 : written_operand(plan_).bytes());
      for (int64_t begin, end; ranges.next(begin, end);)
        for (int64_t task = begin; task < end; ++task)
          if (!compute(task / cut_.chunks, task % cut_.chunks, read.data(), written.data())) is_done_ = false;
    });
    return is_done_;
  }

 private:
  const LibraryOperand& read_operand(const LibraryConvolution& p) const {
    return computes_source_ ? p.destination : p.source;
  }
  const LibraryOperand& written_operand(const LibraryConvolution& p) const {
    return computes_source_ ? p.source : p.destination;
  }
  bool has_rest() const { return call_.samples() % cut_.samples != 0; }

  bool convert_weight() {
    packed_.emplace(static_cast<size_t>(cut_.parts) * plan_.weight.bytes());
    converted_ = packed_->data();
    const int64_t elements = call_.weight.impl()->numel();
    parallel_for(cut_.parts, elements < 16384 ? cut_.parts + 1 : 1, [&](int64_t begin, int64_t end) {
      const SerialScope serial;
      for (int64_t part = begin; part < end; ++part)
        if (!plan_.weight.convert(plan_.weight_at(part), weight_of(part))) is_done_ = false;
    });
    return is_done_;
  }
  void* weight_of(int64_t part) const {
    if (plan_.weight.is_direct()) return plan_.weight_at(part);
    return converted_ + static_cast<size_t>(part) * plan_.weight.bytes();
  }

  bool compute(int64_t part, int64_t chunk, void* read, void* written) const {
    const LibraryConvolution& plan = has_rest() && chunk == cut_.chunks - 1 ? rest_ : plan_;
    const int64_t sample = chunk * cut_.samples;
    void *source = plan.source_at(sample, part), *destination = plan.destination_at(sample, part);
    void* const from = computes_source_ ? destination : source;
    void* const to = computes_source_ ? source : destination;
    const LibraryOperand &given = read_operand(plan), &wanted = written_operand(plan);
    if (given.is_direct()) read = from;
    else if (!given.convert(from, read)) return false;
    if (wanted.is_direct()) written = to;
    source = computes_source_ ? written : read;
    destination = computes_source_ ? read : written;
    return plan.run(source, weight_of(part), destination, part) && (wanted.is_direct() || wanted.convert(to, written));
  }

  const ConvolutionCall& call_;
  const bool computes_source_;
  const Cut cut_;
  LibraryConvolution plan_, rest_;  // for the samples of a whole chunk, and for the remaining ones
  std::optional<LibraryBlock> packed_;
  char* converted_ = nullptr;  // the weight in the library's format, of this run or another band's
  std::atomic<bool> is_done_ = true;
};

bool run_bands(const std::vector<ConvolutionCall>& bands) {
  SampleRun first(bands[0]);
  if (!first.prepare()) return false;
  std::atomic<bool> is_done = true;
  parallel_for(static_cast<int64_t>(bands.size()), 1, [&](int64_t begin, int64_t end) {
    const SerialScope serial;
    for (int64_t band = begin; band < end; ++band)
      if (band == 0 ? !first.compute_all() : !SampleRun(bands[static_cast<size_t>(band)]).run(&first)) is_done = false;
  });
  return is_done;
}

}  // namespace

bool run_convolution(const ConvolutionCall& call) {
  if (!call.is_possible()) return false;
  if (is_pointwise_gemm(call)) return run_pointwise_gemm(call), true;
  const Cut whole = cut(call);
  const int64_t count = band_count(call, whole.chunks * whole.parts);
  const std::vector<ConvolutionCall> bands = count > 1 ? bands_of(call, count) : std::vector<ConvolutionCall>();
  return bands.empty() ? SampleRun(call).run() : run_bands(bands);
}

}  // namespace fulgurite

#endif
