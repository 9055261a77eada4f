#include "cli/folder_examples.h"

#include <algorithm>
#include <filesystem>

#include <fulgurite/fulgurite.h>
#include <fulgurite/hub.h>

#include "cli/called_example.h"
#include "cli/models/models.h"

namespace fulgurite::cli {

namespace {

constexpr int64_t text_length = 128;  // of a text, at most

struct FolderCall {
  std::string folder;
  hub::Config config;
  JitOptions options;
  bool runs_backward;

  template <class F, class... A>
  Example operator()(F function, const A&... arguments) const {
    return called_example(std::move(function), options, runs_backward, arguments...);
  }
  template <class Model>
  Model load() const {
    return hub::load<Model>(folder);
  }
};

Tensor random_tokens(const hub::Config& config, int64_t rows, int64_t most) {
  const int64_t length = most > 0 ? std::min(most, text_length) : text_length;
  return randint(0, config.integer("vocab_size"), {rows, length});
}

Tensor random_images(const hub::Config& config, int64_t count, const std::array<int64_t, 2>& size) {
  return randn({count, config.integer("num_channels", 3), size[0], size[1]});
}

Example call_language_model(const FolderCall& call) {
  const hub::CausalLM model = hub::load_causal_lm(call.folder);
  const hub::Config texts = call.config.is_object("text_config") ? call.config.object("text_config") : call.config;
  const Tensor tokens = random_tokens(texts, 1, model.max_length());
  const Tensor targets = random_tokens(texts, 1, model.max_length());
  return call([](hub::CausalLM m, Tensor x, Tensor y) { return m.loss(x, y); }, model, tokens, targets);
}

Example call_seq2seq(const FolderCall& call) {
  const hub::Seq2SeqLM model = hub::load_seq2seq(call.folder);
  const Tensor source = random_tokens(call.config, 1, 0);
  const Tensor labels = random_tokens(call.config, 1, text_length / 2);
  return call([](hub::Seq2SeqLM m, Tensor x, Tensor y) { return m.loss(x, y); }, model, source, labels);
}

Example call_bert(const FolderCall& call) {
  const auto model = call.load<models::Bert>();
  const int64_t most = model.embeddings.position_embeddings.weight.size(0) - model.embeddings.first_position;
  return call([](models::Bert m, Tensor x) { return m(x); }, model, random_tokens(call.config, 4, most));
}

Example call_vit(const FolderCall& call) {
  if (!is_image_classifier(call.config)) {
    const auto model = call.load<models::Vit>();
    return call([](models::Vit m, Tensor x) { return m(x); }, model,
                random_images(call.config, 1, model.embeddings.image));
  }
  const auto model = call.load<models::VitClassifier>();
  return call([](models::VitClassifier m, Tensor x) { return m(x); }, model,
              random_images(call.config, 1, model.vit.embeddings.image));
}

Example call_resnet(const FolderCall& call) {
  const Tensor images = random_images(call.config, 1, {224, 224});
  if (!is_image_classifier(call.config))
    return call([](models::Resnet m, Tensor x) { return m(x); }, call.load<models::Resnet>(), images);
  return call([](models::ResnetClassifier m, Tensor x) { return m(x); }, call.load<models::ResnetClassifier>(), images);
}

Example call_clip(const FolderCall& call) {
  const auto model = call.load<models::Clip>();
  const int64_t most = model.text_model.embeddings.position_embedding.weight.size(0);
  const Tensor tokens = random_tokens(call.config.object("text_config"), 2, most);
  return call([](models::Clip m, Tensor x, Tensor y) { return m.loss(x, y); }, model, tokens,
              random_images(call.config.object("vision_config"), 2, model.vision_model.embeddings.image));
}

Example call_whisper(const FolderCall& call) {
  const auto model = call.load<models::Whisper>();
  const auto [bins, frames] = model.feature_size();
  const Tensor features = randn({1, bins, frames});
  const Tensor labels = random_tokens(call.config, 1, std::min(model.max_length(), text_length / 2));
  return call([](models::Whisper m, Tensor x, Tensor y) { return m.loss(x, y); }, model, features, labels);
}

struct Family {
  const char* model_type;
  Example (*call)(const FolderCall&);
};

constexpr Family families[] = {
    {"bert", &call_bert},  {"roberta", &call_bert},  {"xlm-roberta", &call_bert},
    {"vit", &call_vit},    {"resnet", &call_resnet}, {"clip", &call_clip},
    {"t5", &call_seq2seq}, {"mt5", &call_seq2seq},   {"whisper", &call_whisper},
};

}  // namespace

bool is_model_folder(const std::string& name) { return std::filesystem::exists(name + "/config.json"); }

Example make_folder_example(const std::string& folder, const JitOptions& options, bool runs_backward) {
  const FolderCall call{folder, hub::Config::read(folder), options, runs_backward};
  manual_seed(1337);
  const std::string type = call.config.model_type();
  const auto* family =
      std::find_if(std::begin(families), std::end(families), [&](const Family& f) { return type == f.model_type; });
  return family == std::end(families) ? call_language_model(call) : family->call(call);
}

}  // namespace fulgurite::cli
