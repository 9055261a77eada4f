#pragma once
#include <string>

#include "cli/example_models.h"

namespace fulgurite::cli {

/// True for a folder with a config.json.
bool is_model_folder(const std::string& name);

/// The model of a Hugging Face folder with a call on random inputs: the loss of language models, of encoders with a
/// decoder and of CLIP; scores of image classifiers; features of other encoders. UserError for other families.
Example make_folder_example(const std::string& folder, const JitOptions& options, bool runs_backward);

}  // namespace fulgurite::cli
