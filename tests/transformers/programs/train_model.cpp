// Trains a language model of a folder on batches, for compare_training.py.
// usage: train_model FOLDER BATCHES.safetensors RESULT.safetensors [--lora FOLDER] [--save FOLDER] [--merged FOLDER]
// BATCHES has "tokens" [steps, batch, length], "rate" and "decay". RESULT has "losses" [steps], and "logits" of the
// first batch after training. --lora: only the changes of this folder are trained; --save writes them, or the model.
#include <iostream>
#include <map>

#include <fulgurite/fulgurite.h>
#include <fulgurite/hub.h>

using namespace fulgurite;

namespace {

Tensor train(const hub::CausalLM& model, const Tensor& batches, double rate, double decay) {
  optim::AdamW optimizer(nn::parameters(model), {.lr = rate, .weight_decay = decay});
  const auto loss_of = jit([](hub::CausalLM m, Tensor x, Tensor y) { return m.loss(x, y); });
  std::vector<double> losses;
  for (int64_t i = 0; i < batches.size(0); ++i) {
    const Tensor tokens = batches(i);
    const int64_t length = tokens.size(1);
    optimizer.zero_grad();
    const Tensor loss = loss_of(model, narrow(tokens, 1, 0, length - 1), narrow(tokens, 1, 1, length - 1));
    loss.backward();
    optimizer.step();
    losses.push_back(loss.item<double>());
  }
  return tensor(losses);
}

void run(const std::string& folder, const TensorMap& inputs, const std::string& result,
         std::map<std::string, std::string> flags) {
  hub::CausalLM model = hub::load_causal_lm(folder);
  const bool has_lora = flags.contains("--lora");
  if (has_lora) model = hub::load_lora(model, flags["--lora"]);
  const Tensor batches = inputs.at("tokens");
  TensorMap out;
  out["losses"] = train(model, batches, inputs.at("rate").item<double>(), inputs.at("decay").item<double>());
  const NoGrad no_grad;
  out["logits"] = model(batches(0)).to(Dtype::f32);
  if (flags.contains("--save")) {
    if (has_lora) hub::save_lora(model, flags["--save"], folder);
    else hub::save(model, flags["--save"], {.like = folder});
    const hub::CausalLM base = hub::load_causal_lm(has_lora ? folder : flags["--save"]);
    const hub::CausalLM again = has_lora ? hub::load_lora(base, flags["--save"]) : base;
    out["logits_again"] = again(batches(0)).to(Dtype::f32);
  }
  if (flags.contains("--merged")) hub::save(hub::merge_lora(model), flags["--merged"], {.like = folder});
  save_safetensors(result, out);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4 || count % 2 != 0) {
    std::cerr << "usage: train_model FOLDER BATCHES.safetensors RESULT.safetensors [--lora FOLDER] [--save FOLDER]\n";
    return 2;
  }
  try {
    std::map<std::string, std::string> flags;
    for (int i = 4; i + 1 < count; i += 2) flags[arguments[i]] = arguments[i + 1];
    run(arguments[1], load_safetensors(arguments[2]), arguments[3], flags);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
