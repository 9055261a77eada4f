// Runs a model of images of a folder, for compare_vision.py.
// usage: run_vision CLASS FOLDER INPUTS.safetensors RESULT.safetensors [--dtype DTYPE] [--train 1] [--interpolate 1]
//                   [--save FOLDER]
// CLASS is vit, vit_classifier, resnet, resnet_classifier or clip. INPUTS has "images" [batch, channels, rows,
// columns]; "labels" for classifiers, "tokens" and perhaps "mask" for clip, for others the weights "weight.NAME" of the
// outputs in the loss, a sum. RESULT has the outputs, "loss", the gradient of each parameter as "grad.NAME" and each
// buffer as "buffer.NAME". CLASS is classifier for ImageClassifier, and INPUTS then has the images "pixels.i".
#include <iostream>

#include <fulgurite/fulgurite.h>
#include <fulgurite/hub.h>

using namespace fulgurite;

namespace {

struct Settings {
  hub::LoadOptions load;
  bool trains = false, interpolates = false;
  std::string saved;
};

/// The outputs of a model without a head.
TensorMap outputs_of(const models::Vit& model, const Tensor& images, bool interpolates) {
  const Tensor features = model(images, interpolates);
  TensorMap out{{"features", features}};
  if (model.pooler.dense.weight.defined()) out["pooled"] = model.pooled(features);
  return out;
}
TensorMap outputs_of(const models::Resnet& model, const Tensor& images, bool) {
  const Tensor features = model(images);
  const Tensor pooled = model.pooled(features);
  return {{"features", features}, {"pooled", pooled}};
}
Tensor logits_of(const models::VitClassifier& model, const Tensor& images, bool interpolates) {
  return model(images, interpolates);
}
Tensor logits_of(const models::ResnetClassifier& model, const Tensor& images, bool) { return model(images); }

TensorMap run_clip(const models::Clip& model, const TensorMap& inputs, bool interpolates) {
  const Tensor tokens = inputs.at("tokens"), images = inputs.at("images");
  const Tensor mask = inputs.contains("mask") ? inputs.at("mask") : Tensor();
  const models::ClipScores scores = model(tokens, images, mask, interpolates);
  TensorMap out{{"logits_per_image", scores.logits_per_image},
                {"logits_per_text", scores.logits_per_text},
                {"text_embeds", scores.text_embeds},
                {"image_embeds", scores.image_embeds}};
  out["features"] = model.vision_model(images, interpolates);
  out["text_features"] = model.text_features(tokens, mask);
  out["image_features"] = model.image_features(images, interpolates);
  out["loss"] = model.loss(tokens, images, mask, interpolates);
  return out;
}

/// The outputs with their loss.
template <class Model>
TensorMap run_model(const Model& model, const TensorMap& inputs, bool interpolates) {
  if constexpr (std::is_same_v<Model, models::Clip>) {
    return run_clip(model, inputs, interpolates);
  } else if constexpr (requires { model.labels; }) {
    const Tensor logits = logits_of(model, inputs.at("images"), interpolates);
    const Tensor loss = models::image_classification_loss(logits, inputs.at("labels"), model.problem_type);
    return {{"logits", logits}, {"loss", loss}};
  } else {
    TensorMap out = outputs_of(model, inputs.at("images"), interpolates);
    std::vector<Tensor> terms;
    for (const auto& [name, tensor] : out) {
      const Tensor weighted = tensor * inputs.at("weight." + name).to(tensor.dtype());
      terms.push_back(sum(weighted));
    }
    Tensor loss = terms.front();
    for (size_t i = 1; i < terms.size(); ++i) loss = loss + terms[i];
    out["loss"] = loss;
    return out;
  }
}

/// Adds gradients and, of a model in training, buffers.
template <class Model>
void add_tensors(TensorMap& out, Model& model, bool trains) {
  detail::for_each_named_tensor(model, [&](const std::string& name, Tensor& tensor) {
    if (!tensor.defined()) return;
    if (tensor.grad().defined()) out["grad." + name] = tensor.grad().to(Dtype::f32);
    if (trains && !tensor.requires_grad()) out["buffer." + name] = tensor.to(Dtype::f32);
  });
}

template <class Model>
TensorMap run(const std::string& folder, const TensorMap& inputs, const Settings& settings) {
  Model model = hub::load<Model>(folder, settings.load);
  if (settings.trains) nn::train(model);
  const bool interpolates = settings.interpolates;
  const auto f = jit([interpolates](const Model& m, const TensorMap& x) { return run_model(m, x, interpolates); });
  const TensorMap results = f(model, inputs);
  results.at("loss").backward();
  TensorMap out;
  for (const auto& [name, tensor] : results) out[name] = tensor.detach().to(Dtype::f32);
  add_tensors(out, model, settings.trains);
  if (!settings.saved.empty()) hub::save(model, settings.saved, {.like = folder});
  return out;
}

/// "scores.i" and "indices.i" of the classes of the image "pixels.i" [rows, columns, 3], as ImageClassifier gives them.
TensorMap run_classifier(const std::string& folder, const TensorMap& inputs, const Settings& settings) {
  const ImageClassifier classifier = ImageClassifier::load(folder, settings.load);
  std::vector<hub::Image> images;
  for (const auto& [name, pixels] : inputs) {
    const std::vector<int64_t> numbers = pixels.to_vector<int64_t>();
    images.push_back({pixels.size(0), pixels.size(1), {numbers.begin(), numbers.end()}});
  }
  TensorMap out;
  const auto results = classifier.classify(images, {.classes = 4, .batch_size = 2});
  for (size_t i = 0; i < results.size(); ++i) {
    std::vector<double> scores;
    std::vector<int64_t> indices;
    for (const ImageClass& one : results[i]) {
      scores.push_back(one.score);
      indices.push_back(one.index);
    }
    out["scores." + std::to_string(i)] = tensor(scores);
    out["indices." + std::to_string(i)] = tensor(indices);
  }
  return out;
}

TensorMap run_class(const std::string& kind, const std::string& folder, const TensorMap& inputs, const Settings& set) {
  if (kind == "vit") return run<models::Vit>(folder, inputs, set);
  if (kind == "vit_classifier") return run<models::VitClassifier>(folder, inputs, set);
  if (kind == "resnet") return run<models::Resnet>(folder, inputs, set);
  if (kind == "resnet_classifier") return run<models::ResnetClassifier>(folder, inputs, set);
  if (kind == "classifier") return run_classifier(folder, inputs, set);
  if (kind == "clip") return run<models::Clip>(folder, inputs, set);
  throw UserError("the class " + kind + " is unknown");
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 5) {
    std::cerr << "usage: run_vision CLASS FOLDER INPUTS.safetensors RESULT.safetensors [--dtype DTYPE] [--train 1] "
                 "[--interpolate 1] [--save FOLDER]\n";
    return 2;
  }
  try {
    Settings settings;
    for (int i = 5; i + 1 < count; i += 2) {
      const std::string flag = arguments[i];
      if (flag == "--dtype") settings.load.dtype = dtype_from_name(arguments[i + 1]);
      if (flag == "--train") settings.trains = true;
      if (flag == "--interpolate") settings.interpolates = true;
      if (flag == "--save") settings.saved = arguments[i + 1];
    }
    const TensorMap inputs = load_safetensors(arguments[3]);
    save_safetensors(arguments[4], run_class(arguments[1], arguments[2], inputs, settings));
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
