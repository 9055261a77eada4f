#pragma once
#include "executors/onednn/library_convolution.h"

namespace fulgurite {

/// Divides a convolution of few samples into `count` bands of rows, each a call on views of the rows: of the computed
/// rows for the passes `destination` and `source`, of the destination's for `weight`, whose bands have `weight` as it
/// is. Empty if a band would have no rows, or the pass `source` has a stride.
std::vector<ConvolutionCall> bands_of(const ConvolutionCall&, int64_t count);

/// The number of bands that a call of `tasks` tasks is divided into; 1: it stays whole. A function of the sizes alone.
int64_t band_count(const ConvolutionCall&, int64_t tasks);

}  // namespace fulgurite
