// Runs a BERT of a folder, for compare_encoders.py.
// usage: run_encoder FOLDER INPUTS.safetensors RESULT.safetensors [--dtype DTYPE] [--save FOLDER]
// INPUTS has "tokens", "mask" and "types" [batch, length]. RESULT has "features", "pooled" and, of the sum of the
// features of tokens times "weight" [width], the gradient of each parameter as "grad.NAME".
#include <iostream>

#include <fulgurite/fulgurite.h>
#include <fulgurite/hub.h>

using namespace fulgurite;

namespace {

TensorMap run(const std::string& folder, const TensorMap& inputs, const hub::LoadOptions& options) {
  const auto model = hub::load<models::Bert>(folder, options);
  const Tensor tokens = inputs.at("tokens"), mask = inputs.at("mask"), types = inputs.at("types");
  const auto f = jit([](models::Bert m, Tensor x, Tensor mask, Tensor types) { return m(x, mask, types); });
  TensorMap out;
  const Tensor features = f(model, tokens, mask, types);
  out["features"] = features.detach().to(Dtype::f32);
  if (model.pooler.dense.weight.defined()) out["pooled"] = model.pooled(features.detach()).detach().to(Dtype::f32);
  const Tensor weighted = features * inputs.at("weight").to(features.dtype()) * unsqueeze(mask, -1);
  sum(weighted).backward();
  for (const auto& [name, parameter] : nn::named_parameters(model))
    if (parameter.grad().defined()) out["grad." + name] = parameter.grad().to(Dtype::f32);
  return out;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) {
    std::cerr << "usage: run_encoder FOLDER INPUTS.safetensors RESULT.safetensors [--dtype DTYPE] [--save FOLDER]\n";
    return 2;
  }
  try {
    const std::string folder = arguments[1];
    hub::LoadOptions options;
    for (int i = 4; i + 1 < count; i += 2) {
      const std::string flag = arguments[i];
      if (flag == "--dtype") options.dtype = dtype_from_name(arguments[i + 1]);
      if (flag == "--save") hub::save(hub::load<models::Bert>(folder), arguments[i + 1], {.like = folder});
    }
    save_safetensors(arguments[3], run(folder, load_safetensors(arguments[2]), options));
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
