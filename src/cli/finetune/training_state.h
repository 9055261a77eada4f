#pragma once
#include <limits>
#include <string>

#include <fulgurite/fulgurite.h>

#include "support/context.h"

namespace fulgurite::cli {

/// The lowest measured loss of a run.
struct BestLoss {
  double loss = std::numeric_limits<double>::infinity();
  int64_t step = -1;       // -1: not measured
  int64_t not_better = 0;  // measurements since
};

/// An interrupted run: everything that a later step depends on.
struct TrainingState {
  std::string settings{};  // to_json(FinetuneSettings)
  int64_t step = 0;
  BestLoss best{};
  RandomState generator{};
  std::string data{};     // a checksum of the tokens
  std::string weights{};  // a checksum of the weights that LoRA does not train; empty if all are trained
  TensorMap tensors{};    // "model.…", those that are trained, and "optimizer.…"
};

/// The file of `folder`'s run.
std::string training_state_path(const std::string& folder);
/// Writes it; the old file is there until the new one is complete.
void save_training_state(const std::string& folder, const TrainingState& state);
/// Throws UserError, one line, for a file that is missing, truncated, damaged or of another kind.
TrainingState load_training_state(const std::string& folder);

}  // namespace fulgurite::cli
