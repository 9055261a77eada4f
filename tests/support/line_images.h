#pragma once
#include <utility>
#include <vector>

#include <fulgurite/fulgurite.h>

namespace fulgurite::test {

/// Twelve noisy images of 8 by 8, [12, 1, 8, 8], with a line down (class 0) or across (class 1), and their classes: a
/// task that a small convolutional network learns.
inline std::pair<Tensor, Tensor> line_images() {
  const Tensor images = randn({12, 1, 8, 8}) * 0.1;
  std::vector<int64_t> kinds;
  for (int64_t i = 0; i < 12; ++i) {
    kinds.push_back(i % 2);
    const Tensor image = images(i, 0);
    (i % 2 == 0 ? image(Slice(), 3) : image(3)).add_(1);
  }
  return {images, tensor(kinds)};
}

}  // namespace fulgurite::test
