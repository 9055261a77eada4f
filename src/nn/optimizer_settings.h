#pragma once
#include <string_view>

#include <fulgurite/optim.h>

namespace fulgurite::optim {

// Rejects invalid optimizer settings: each function throws UserError, which names the optimizer.

/// Requires a learning rate to be a finite number of at least 0.
void check_rate(double rate, std::string_view operation, std::string_view name, SourceLocation);
void check_settings(const SGDOptions&, SourceLocation);
void check_settings(const AdamOptions&, SourceLocation);
void check_settings(const AdamWOptions&, SourceLocation);
void check_settings(const CosineOptions&, SourceLocation);
/// Requires the limit of a norm to be at least 0; infinity clips nothing.
void check_limit(double max_norm, std::string_view operation, SourceLocation);

}  // namespace fulgurite::optim
