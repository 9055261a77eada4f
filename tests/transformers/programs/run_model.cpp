// Runs a language model of a folder on tokens, for compare_models.py.
// usage: run_model FOLDER TOKENS.safetensors RESULT.safetensors [--dtype DTYPE] [--save FOLDER]
// TOKENS has "tokens" [batch, length] and "count", the number of tokens to generate after the first row. RESULT has
// "logits", "loss", the gradient of each parameter as "grad.NAME", and "generated".
#include <iostream>

#include <fulgurite/fulgurite.h>
#include <fulgurite/hub.h>

using namespace fulgurite;

namespace {

TensorMap run(const std::string& folder, const TensorMap& inputs, const hub::LoadOptions& options) {
  const hub::CausalLM model = hub::load_causal_lm(folder, options);
  const Tensor tokens = inputs.at("tokens");
  TensorMap out;
  const auto f = jit([](hub::CausalLM m, Tensor x) { return m(x); });
  const auto loss_of = jit([](hub::CausalLM m, Tensor x, Tensor y) { return m.loss(x, y); });
  {
    const NoGrad no_grad;
    out["logits"] = f(model, tokens).to(Dtype::f32);
  }
  const int64_t length = tokens.size(1);
  const Tensor loss = loss_of(model, narrow(tokens, 1, 0, length - 1), narrow(tokens, 1, 1, length - 1));
  loss.backward();
  out["loss"] = loss.detach().to(Dtype::f32);
  for (const auto& [name, parameter] : nn::named_parameters(model))
    out["grad." + name] = parameter.grad().to(Dtype::f32);
  const std::vector<int64_t> prompt = tokens(0).to_vector<int64_t>();
  GenerateOptions how{.max_tokens = inputs.at("count").item<int64_t>()};
  const std::vector<int64_t> generated = TokenGenerator(model).generate(prompt, how);
  how.prompt_lookup_tokens = 7;
  if (TokenGenerator(model).generate(prompt, how) != generated)
    throw UserError("prompt lookup gives other tokens than plain generation");
  out["generated"] = tensor(generated);
  return out;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) {
    std::cerr << "usage: run_model FOLDER TOKENS.safetensors RESULT.safetensors [--dtype DTYPE] [--save FOLDER]\n";
    return 2;
  }
  try {
    const std::string folder = arguments[1];
    hub::LoadOptions options;
    for (int i = 4; i + 1 < count; i += 2) {
      const std::string flag = arguments[i];
      if (flag == "--dtype") options.dtype = dtype_from_name(arguments[i + 1]);
      if (flag == "--save")
        hub::save(hub::load_causal_lm(folder), arguments[i + 1], {.like = folder, .shard_bytes = 100'000});
    }
    save_safetensors(arguments[3], run(folder, load_safetensors(arguments[2]), options));
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
