#pragma once
#include <string>

#include <fulgurite/fulgurite.h>
#include <fulgurite/models/gpt.h>

#include "cli/train/text_data.h"

namespace fulgurite::cli {

/// The settings of `fulgurite train`; saved with the checkpoint as JSON.
struct TrainConfig {
  int64_t layers = 4, heads = 4, width = 128, block = 64, batch = 12, steps = 2000, warmup = 100;
  double lr = 1e-3, min_lr = 1e-4, beta1 = 0.9, beta2 = 0.99, weight_decay = 0.1, clip = 1.0, dropout = 0;
  int64_t seed = 1337;
  bool bias = false;
  std::string dtype = "f32";  // or "bf16": what forward and backward are autocast to
};
/// For JitOptions and scopes: none for f32.
std::optional<Dtype> autocast_of(const TrainConfig&);
std::string to_json(const TrainConfig&);
/// Throws UserError for text that is not a configuration.
TrainConfig config_from_json(const std::string& text);
/// A run as it is saved: everything that a later step depends on.
struct Checkpoint {
  TrainConfig config;
  std::string vocabulary;
  int64_t step = 0;
  TensorMap tensors;  // "model.…" and "optimizer.…"
  Metadata extra;     // the generator's state
  /// An entry of `extra`; empty if there is none.
  std::string value_of(const std::string& key) const;
};
/// The settings of a resumed run: those of the checkpoint, with the `given` flags from `asked`. Throws UserError if a
/// setting changes that the model or the order of its batches depends on. Completed steps are kept.
TrainConfig resumed_config(const Checkpoint&, const TrainConfig& asked, const std::vector<std::string>& given);

/// `folder`/checkpoint/checkpoint.safetensors: the old file until the new one is complete.
std::string checkpoint_path(const std::string& folder);
void save_checkpoint(const std::string& folder, const Checkpoint&);
/// Throws UserError, one line, for a file that is missing, truncated, damaged or of another kind. `folder` may also be
/// the checkpoint's own.
Checkpoint load_checkpoint(const std::string& folder);

models::Gpt make_model(const TrainConfig&, int64_t vocabulary);
/// Copies the tensors named "model.…" into the model; UserError if one is missing, of another shape, or has elements
/// that are not finite.
void load_model(const models::Gpt&, const TensorMap& tensors);

}  // namespace fulgurite::cli
