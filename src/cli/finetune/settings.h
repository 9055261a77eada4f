#pragma once
#include <optional>
#include <string>
#include <vector>

#include <fulgurite/dtype.h>

namespace fulgurite::cli {

/// The settings of `fulgurite finetune`.
struct FinetuneSettings {
  std::string model, data, eval_data, out, dtype = "f32", weights = "files", targets = "q_proj,v_proj",
                                           schedule = "cosine";
  int64_t lora = 0, steps = 100, epochs = 0, batch = 4, accumulate = 1, length = 256, warmup = 0, seed = 1337;
  double lr = 0, alpha = 0, dropout = 0, weight_decay = 0.01, clip = 1;
  int64_t eval_every = 0, patience = 0, checkpoint_every = 0, threads = 0;
  bool saves_best = false, resumes = false, as_json = false;
  std::vector<std::string> given{};  // the names of the flags that were passed

  std::optional<Dtype> autocast() const { return dtype == "bf16" ? std::optional(Dtype::bf16) : std::nullopt; }
};

/// False after --help. Throws WrongUse with one line.
bool parse(FinetuneSettings& settings, const std::vector<std::string>& arguments);

/// The settings that a saved run continues with, as JSON.
std::string to_json(const FinetuneSettings& settings);
/// The settings of a resumed run: the saved ones, changed by flags that were passed. Throws UserError for JSON without
/// a setting, and for flags that would make it another run.
FinetuneSettings resumed_settings(const std::string& saved, const FinetuneSettings& asked);

}  // namespace fulgurite::cli
