// Runs a Whisper of a folder on features and sounds, for compare_speech.py and compare_whisper.py.
// usage: run_speech FOLDER INPUTS.safetensors RESULT.safetensors [--dtype DTYPE] [--save FOLDER]
// INPUTS may have "features", "tokens" and "labels": RESULT then has "encoded", "logits", "loss" and the gradient of
// each parameter as "grad.NAME". "audio.NAME", sounds of 16000 samples a second, give "features.NAME", "all.NAME" and
// tokens, as "NAME.WAY": WAY is "default", "translate", "times" or a language, as far as the model has them.
#include <iostream>

#include <fulgurite/fulgurite.h>
#include <fulgurite/hub.h>

using namespace fulgurite;

namespace {

void run_model(const std::string& folder, const TensorMap& inputs, const hub::LoadOptions& options, TensorMap& out) {
  const auto model = hub::load<models::Whisper>(folder, options);
  const Tensor features = inputs.at("features");
  const auto encode = jit([](models::Whisper m, Tensor x) { return m.model.encoder(x); });
  const auto f = jit([](models::Whisper m, Tensor x, Tensor y) { return m(x, y); });
  const auto loss_of = jit([](models::Whisper m, Tensor x, Tensor y) { return m.loss(x, y); });
  {
    const NoGrad no_grad;
    out["encoded"] = encode(model, features).to(Dtype::f32);
    out["logits"] = f(model, features, inputs.at("tokens")).to(Dtype::f32);
  }
  const Tensor loss = loss_of(model, features, inputs.at("labels"));
  loss.backward();
  out["loss"] = loss.detach().to(Dtype::f32);
  for (const auto& [name, parameter] : nn::named_parameters(model))
    out["grad." + name] = parameter.grad().to(Dtype::f32);
}

void transcribe(Transcriber& transcriber, const std::string& name, const hub::Audio& audio, TensorMap& out) {
  const auto add = [&](const std::string& way, const TranscribeOptions& options) {
    out[name + "." + way] = tensor(transcriber.transcribe(audio, options).tokens());
  };
  add("default", {.chunks = true});
  add("times", {.timestamps = true});
  const std::vector<std::string> languages = transcriber.languages();
  if (languages.size() == 1) return;
  add("translate", {.task = "translate", .chunks = true});
  for (const std::string& language : languages) add(language, {.language = language, .chunks = true});
}

void run_sounds(const std::string& folder, const TensorMap& inputs, const hub::LoadOptions& options, TensorMap& out) {
  const auto prepare = hub::AudioProcessor::load(folder);
  auto transcriber = Transcriber::load(folder, options);
  for (const auto& [name, samples] : inputs) {
    if (!name.starts_with("audio.")) continue;
    const std::string rest = name.substr(6);
    const hub::Audio audio{16000, samples.to_vector<float>()};
    out["features." + rest] = prepare(audio);
    out["all." + rest] = prepare.all_frames(audio);
    transcribe(transcriber, rest, audio, out);
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) {
    std::cerr << "usage: run_speech FOLDER INPUTS.safetensors RESULT.safetensors [--dtype DTYPE] [--save FOLDER]\n";
    return 2;
  }
  try {
    const std::string folder = arguments[1];
    hub::LoadOptions options;
    for (int i = 4; i + 1 < count; i += 2) {
      const std::string flag = arguments[i];
      if (flag == "--dtype") options.dtype = dtype_from_name(arguments[i + 1]);
      if (flag == "--save")
        hub::save(hub::load<models::Whisper>(folder), arguments[i + 1], {.like = folder, .shard_bytes = 100'000});
    }
    const TensorMap inputs = load_safetensors(arguments[2]);
    TensorMap out;
    if (inputs.count("features") != 0) run_model(folder, inputs, options, out);
    run_sounds(folder, inputs, options, out);
    save_safetensors(arguments[3], out);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
