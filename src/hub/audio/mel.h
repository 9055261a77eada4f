#pragma once
#include <cstdint>

#include <fulgurite/tensor.h>

namespace fulgurite::hub {

/// Triangular filters of Slaney's mel scale up to 8000 Hz, each divided by its width: [frequencies, bins] of f64. The
/// frequencies are those of a Fourier transform of 2 (frequencies - 1) samples at the rate.
Tensor mel_filters(int64_t frequencies, int64_t bins, int64_t rate);

/// The Fourier transform of frames in a periodic Hann window as one product: [size, 2 frequencies] of f64, the real
/// parts, then the imaginary ones. There are size / 2 + 1 frequencies.
Tensor windowed_transform(int64_t size);

}  // namespace fulgurite::hub
