#include "cli/finetune/training_state.h"

#include <filesystem>

#include "cli/train/checksum.h"
#include "io/json.h"
#include "support/text/text.h"

namespace fulgurite::cli {

namespace {

constexpr const char* format = "fulgurite-finetune-1";

Metadata metadata_of(const TrainingState& state) {
  return {{"format", format},
          {"settings", state.settings},
          {"step", std::to_string(state.step)},
          {"best_loss", state.best.step < 0 ? "" : json::number(state.best.loss)},
          {"best_step", std::to_string(state.best.step)},
          {"not_better", std::to_string(state.best.not_better)},
          {"generator_seed", std::to_string(state.generator.seed)},
          {"generator_offset", std::to_string(state.generator.offset)},
          {"data", state.data},
          {"weights", state.weights},
          {"checksum", checksum(state.tensors)}};
}

TrainingState state_of(const Metadata& metadata) {
  TrainingState state{
      .settings = metadata.at("settings"),
      .step = std::stoll(metadata.at("step")),
      .generator = {std::stoull(metadata.at("generator_seed")), std::stoull(metadata.at("generator_offset"))},
      .data = metadata.at("data"),
      .weights = metadata.at("weights")};
  state.best.step = std::stoll(metadata.at("best_step"));
  state.best.not_better = std::stoll(metadata.at("not_better"));
  if (state.best.step >= 0) state.best.loss = std::stod(metadata.at("best_loss"));
  return state;
}

}  // namespace

std::string training_state_path(const std::string& folder) { return folder + "/training_state.safetensors"; }

void save_training_state(const std::string& folder, const TrainingState& state) {
  save_safetensors(training_state_path(folder), state.tensors, metadata_of(state));
}

TrainingState load_training_state(const std::string& folder) {
  const std::string path = training_state_path(folder);
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    throw UserError(text::cat(folder, " has no interrupted run to continue; begin one without --resume"));
  const SafetensorsFile file(path);
  const Metadata& metadata = file.metadata();
  const auto kind = metadata.find("format");
  if (kind == metadata.end() || kind->second != format)
    throw UserError(path + " is not the state of a run of fulgurite finetune");
  TrainingState state;
  try {
    state = state_of(metadata);
  } catch (const std::logic_error&) {
    throw UserError(path + " is damaged: a value of its header is missing or is not a number");
  }
  state.tensors = file.load_all();
  if (metadata.count("checksum") == 0 || checksum(state.tensors) != metadata.at("checksum"))
    throw UserError(path + " is damaged: its data do not have the checksum that was saved with them");
  return state;
}

}  // namespace fulgurite::cli
