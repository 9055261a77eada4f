#ifdef FULGURITE_ONEDNN
#include "executors/onednn/convolution_bands.h"

namespace fulgurite {

namespace {

constexpr size_t rows = 2;  // the dimension that is divided

/// Rows [first, last).
struct RowRange {
  int64_t first, last;
  int64_t count() const { return last - first; }
};

Tensor narrowed(const Tensor& t, const RowRange& range) {
  Sizes sizes = t.impl()->sizes;
  sizes[rows] = range.count();
  return make_view(t.impl()->storage, sizes, t.impl()->strides,
                   t.impl()->offset + range.first * t.impl()->strides[rows], t.impl()->dtype);
}

/// The distance between the first and the last row of a window.
int64_t reach(const ConvolutionCall& call) { return (call.weight.impl()->sizes[rows] - 1) * (call.dilation[0] + 1); }

/// The rows of the source that windows read; the first one begins `call.before` rows before the destination's.
RowRange source_rows(const ConvolutionCall& call, const RowRange& windows) {
  const int64_t first = windows.first * call.stride[0] - call.before[0],
                last = (windows.last - 1) * call.stride[0] - call.before[0] + reach(call) + 1;
  return {std::max<int64_t>(0, first), std::min(last, call.source.impl()->sizes[rows])};
}

/// The windows, one row apart, that read some of the source's rows.
RowRange windows_of(const ConvolutionCall& call, const RowRange& source) {
  return {std::max<int64_t>(0, source.first + call.before[0] - reach(call)),
          std::min(source.last + call.before[0], call.destination.impl()->sizes[rows])};
}

}  // namespace

std::vector<ConvolutionCall> bands_of(const ConvolutionCall& call, int64_t count) {
  const bool makes_source = call.pass == ConvolutionCall::Pass::source;
  if (makes_source && call.stride[0] != 1) return {};
  const int64_t size = (makes_source ? call.source : call.destination).impl()->sizes[rows];
  std::vector<ConvolutionCall> bands;
  for (int64_t i = 0; i < count; ++i) {
    const RowRange own{i * size / count, (i + 1) * size / count};
    const RowRange windows = makes_source ? windows_of(call, own) : own,
                   source = makes_source ? own : source_rows(call, own);
    if (windows.count() <= 0 || source.count() <= 0) return {};
    ConvolutionCall band = call;
    band.source = narrowed(call.source, source);
    band.destination = narrowed(call.destination, windows);
    band.before[0] = call.before[0] + source.first - windows.first * call.stride[0];
    band.after[0] = (windows.count() - 1) * call.stride[0] + reach(call) + 1 - source.count() - band.before[0];
    bands.push_back(std::move(band));
  }
  return bands;
}

int64_t band_count(const ConvolutionCall& call, int64_t tasks) {
  constexpr int64_t wanted_tasks = 4;
  constexpr double min_work = 1e7;  // operations of a band
  const int64_t size = call.destination.impl()->sizes[rows];
  // Neighbouring bands both read, and convert, the rows that a window reaches over.
  const int64_t min_rows = std::max<int64_t>(4, 4 * reach(call));
  const double work = call.work() * static_cast<double>(call.samples());
  const int64_t by_work = static_cast<int64_t>(std::min(1e9, work / min_work));
  return std::max<int64_t>(1, std::min({wanted_tasks / std::max<int64_t>(1, tasks), size / min_rows, by_work}));
}

}  // namespace fulgurite

#endif
