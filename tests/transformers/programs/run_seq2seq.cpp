// Runs a model with an encoder and a decoder of a folder on tokens, for compare_seq2seq.py.
// usage: run_seq2seq FOLDER INPUTS.safetensors RESULT.safetensors [--dtype DTYPE] [--save FOLDER]
// INPUTS has "source", "mask" and "labels" [batch, length], and "count", the number of tokens to generate for the first
// source. RESULT has "logits", "loss", the gradient of each parameter as "grad.NAME", and "generated".
#include <iostream>

#include <fulgurite/fulgurite.h>
#include <fulgurite/hub.h>

using namespace fulgurite;

namespace {

TensorMap run(const std::string& folder, const TensorMap& inputs, const hub::LoadOptions& options) {
  const hub::Seq2SeqLM model = hub::load_seq2seq(folder, options);
  const Tensor source = inputs.at("source"), mask = inputs.at("mask"), labels = inputs.at("labels");
  TensorMap out;
  const auto f = jit([](hub::Seq2SeqLM m, Tensor x, Tensor y, Tensor kept) { return m(x, y, kept); });
  const auto loss_of = jit([](hub::Seq2SeqLM m, Tensor x, Tensor y, Tensor kept) { return m.loss(x, y, kept); });
  {
    const NoGrad no_grad;
    out["logits"] = f(model, source, inputs.at("target"), mask).to(Dtype::f32);
  }
  const Tensor loss = loss_of(model, source, labels, mask);
  loss.backward();
  out["loss"] = loss.detach().to(Dtype::f32);
  for (const auto& [name, parameter] : nn::named_parameters(model))
    out["grad." + name] = parameter.grad().to(Dtype::f32);
  Seq2SeqGenerator generator(model);
  const std::vector<int64_t> first = source(0).to_vector<int64_t>();
  out["generated"] = tensor(generator.generate(first, {.max_tokens = inputs.at("count").item<int64_t>()}));
  return out;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) {
    std::cerr << "usage: run_seq2seq FOLDER INPUTS.safetensors RESULT.safetensors [--dtype DTYPE] [--save FOLDER]\n";
    return 2;
  }
  try {
    const std::string folder = arguments[1];
    hub::LoadOptions options;
    for (int i = 4; i + 1 < count; i += 2) {
      const std::string flag = arguments[i];
      if (flag == "--dtype") options.dtype = dtype_from_name(arguments[i + 1]);
      if (flag == "--save")
        hub::save(hub::load_seq2seq(folder), arguments[i + 1], {.like = folder, .shard_bytes = 100'000});
    }
    save_safetensors(arguments[3], run(folder, load_safetensors(arguments[2]), options));
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
