#pragma once
#include <string>
#include <vector>

#include "cli/train/gpt_run.h"

namespace fulgurite::cli {

/// The command line of `fulgurite train`.
struct TrainFlags {
  TrainConfig config;
  std::string text, out = "out/train";
  int64_t threads = 0, eval_every = 250, eval_batches = 20, checkpoint_every = 250, log_every = 10, stop_at = -1;
  bool resume = false, show_traces = false, as_json = false;
  std::vector<std::string> given;  // the flags on the command line
};
/// False if only help was requested.
bool parse(TrainFlags&, const std::vector<std::string>& arguments);
/// Throws WrongUse for settings that do not fit together.
void check_settings(const TrainConfig&);
/// The command that continues the run.
std::string resume_command(const TrainFlags&);

}  // namespace fulgurite::cli
