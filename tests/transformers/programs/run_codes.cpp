// Weights of few bits, for compare_codes.py.
// usage: run_codes quantize NUMBERS.safetensors RESULT.safetensors
//          RESULT has NAME.TYPE.codes, .scales, .minima and .numbers of each matrix and type.
//        run_codes loss FOLDER TOKENS.safetensors RESULT.safetensors WEIGHTS DTYPE
//          RESULT has "loss", the mean cross entropy of each row of "tokens" [rows, length].
//        run_codes lora FOLDER TOKENS.safetensors RESULT.safetensors WEIGHTS OUT
//          Trains LoRA on "tokens" for some steps. OUT gets the folders "base", of dequantized weights, and "adapter";
//          RESULT has "losses" and "logits".
#include <iostream>

#include <fulgurite/fulgurite.h>
#include <fulgurite/hub.h>

using namespace fulgurite;

namespace {

TensorMap quantize(const TensorMap& numbers) {
  TensorMap out;
  for (const auto& [name, tensor] : numbers)
    for (const auto& [type, codes] :
         {std::pair{"q8_0", nn::Codes::q8_0}, {"q4_0", nn::Codes::q4_0}, {"q4_1", nn::Codes::q4_1}}) {
      const nn::QuantizedWeight weight = nn::quantize(tensor, codes);
      const std::string prefix = name + "." + type + ".";
      out[prefix + "codes"] = weight.codes;
      out[prefix + "scales"] = weight.scales;
      if (weight.minima.defined()) out[prefix + "minima"] = weight.minima;
      out[prefix + "numbers"] = weight.dequantized();
    }
  return out;
}

Tensor loss_of(hub::CausalLM model, Tensor tokens) {
  const Int length = tokens.size(1);
  const Tensor inputs = narrow(tokens, 1, 0, length - 1), targets = narrow(tokens, 1, 1, length - 1);
  return model.loss(inputs, targets);
}

TensorMap losses(const std::string& folder, const Tensor& tokens, const std::string& weights,
                 const std::string& dtype) {
  const hub::CausalLM model =
      hub::load_causal_lm(folder, {.dtype = dtype_from_name(dtype), .weights = hub::weights_from_name(weights)});
  const NoGrad no_grad;
  const auto compiled = jit(loss_of);
  std::vector<float> out;
  for (int64_t row = 0; row < tokens.size(0); ++row)
    out.push_back(compiled(model, narrow(tokens, 0, row, 1)).to(Dtype::f32).item<float>());
  return {{"loss", tensor(out)}};
}

TensorMap train_lora(const std::string& folder, const Tensor& tokens, const std::string& weights,
                     const std::string& out) {
  const hub::CausalLM base =
      hub::load_causal_lm(folder, {.dtype = Dtype::f32, .weights = hub::weights_from_name(weights)});
  hub::save(hub::dequantize(base), out + "/base", {.like = folder});
  manual_seed(1);
  hub::CausalLM model = hub::with_lora(base, {.rank = 4, .alpha = 8, .targets = {"q_proj", "v_proj", "down_proj"}});
  optim::AdamW optimizer(nn::parameters(model), {.lr = 1e-2});
  const auto compiled = jit(loss_of);
  std::vector<float> made;
  for (int step = 0; step < 20; ++step) {
    optimizer.zero_grad();
    const Tensor loss = compiled(model, tokens);
    loss.backward();
    optimizer.step();
    made.push_back(loss.item<float>());
  }
  nn::eval(model);
  hub::save_lora(model, out + "/adapter", out + "/base");
  const NoGrad no_grad;
  const auto logits_of = jit([](hub::CausalLM m, Tensor x) { return m(x); });
  return {{"losses", tensor(made)}, {"logits", logits_of(model, tokens)}};
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const std::vector<std::string> given(arguments + 1, arguments + count);
    if (given.size() == 3 && given[0] == "quantize") {
      save_safetensors(given[2], quantize(load_safetensors(given[1])));
      return 0;
    }
    if (given.size() != 6) throw UserError("see the usage in run_codes.cpp");
    const Tensor tokens = load_safetensors(given[2]).at("tokens");
    if (given[0] == "loss") save_safetensors(given[3], losses(given[1], tokens, given[4], given[5]));
    else save_safetensors(given[3], train_lora(given[1], tokens, given[4], given[5]));
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
