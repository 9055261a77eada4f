#include <fulgurite/hub/gguf.h>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/models/models.h"

namespace fulgurite::cli {

int convert(const std::vector<std::string>& arguments) {
  std::string file, folder, dtype = "f32";
  bool keeps_codes = false;
  Flags flags("fulgurite convert FILE.gguf --out FOLDER [flags]",
              {"fulgurite convert SmolLM2-135M-Instruct.Q4_1.gguf --out smollm2"});
  flags.positional("FILE", file, "a GGUF file: llama, qwen2 or qwen3");
  flags.text("out", "FOLDER", folder, "the folder to write, as transformers reads it");
  flags.choice("dtype", dtype, {"f32", "bf16", "f16"}, "dtype of the tensors");
  flags.toggle("keep-codes", keeps_codes, "keep Q8_0, Q4_0 and Q4_1 as they are; only fulgurite reads the folder");
  if (!flags.parse(arguments)) return 0;
  if (file.empty()) throw WrongUse("a GGUF file is missing; see --help");
  if (folder.empty()) throw WrongUse("--out is missing; see --help");
  hub::convert_gguf(file, folder, {.dtype = *dtype_of(dtype), .keeps_codes = keeps_codes});
  return 0;
}

}  // namespace fulgurite::cli
