#pragma once
#include <string_view>

#include <fulgurite/optim.h>

namespace fulgurite::optim {

// Settings of optimizers that make no sense are refused: each function throws UserError, which names the optimizer.

/// A learning rate is a finite number of at least 0.
void check_rate(double rate, std::string_view operation, std::string_view name, SourceLocation);
void check_settings(const SGDOptions&, SourceLocation);
void check_settings(const AdamOptions&, SourceLocation);
void check_settings(const AdamWOptions&, SourceLocation);
void check_settings(const CosineOptions&, SourceLocation);
/// The limit of a norm is a number of at least 0; infinity clips nothing.
void check_limit(double max_norm, std::string_view operation, SourceLocation);

}  // namespace fulgurite::optim
