#pragma once
#include <vector>

#include <fulgurite/fulgurite.h>

namespace fulgurite::test {

/// A random function of tensors. What it does depends on its seed and on its inputs' sizes alone, so it does the same
/// again eagerly, while it is traced, and in another dtype.
///
/// It has operators of several results of which some are unused, views, draws, regions under checkpoint, integer and
/// boolean operands; it may return an input, or one tensor twice, and take one tensor twice. Kinks (of relu, max, where
/// and their like) are met off the tie: what comes to one is shifted by numbers of no pattern first.
class RandomProgram {
 public:
  struct Options {
    Dtype dtype = Dtype::f64;
    int operators = 12;     // how many are chosen; most of them record one symbol
    bool has_draws = true;  // dropout and the like
    bool repeats_input = false;
  };
  RandomProgram(unsigned seed, Options options) : seed_(seed), options_(options) {}

  /// Fresh leaves: three floating tensors that broadcast (the last has no gradient in some programs), a mask, indexes,
  /// and the shifts; and once more the first tensor if it repeats.
  std::vector<Tensor> inputs() const;
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) const;

  struct Range {
    double to_kink = 1;  // how near the inputs' values come to a kink
    double largest = 0;  // of the results' magnitudes; infinite where one is not finite
  };
  /// The ranges in an eager run whose draws start at case_seed.
  Range range(const std::vector<Tensor>& inputs) const;

 private:
  unsigned seed_;
  Options options_;
};

/// The program of a number: drawn again until it records from 3 to 40 symbols, has a gradient, and its values stay
/// finite, moderate and off kinks. Every fifth one takes a tensor twice.
RandomProgram draw_random_program(unsigned number, Dtype dtype = Dtype::f64);

}  // namespace fulgurite::test
