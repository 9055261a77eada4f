#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include <fulgurite/generator.h>
#include <fulgurite/tensor.h>

namespace fulgurite::data::transforms {

/// Throws UserError unless it is a floating tensor [..., channels, rows, columns].
void check_image(const Tensor& image, const char* name);
/// Throws UserError unless it is from 0 to 1.
void check_share(double p, const char* name, SourceLocation at);
/// A number from 0 to below 1, between two numbers, and an integer from 0 to `most`, inclusive.
double drawn(Generator& generator);
double drawn_between(double low, double high, Generator& generator);
int64_t drawn_place(int64_t most, Generator& generator);

}  // namespace fulgurite::data::transforms
