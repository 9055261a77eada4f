#pragma once
#include <string>

#include <fulgurite/hub.h>

#include "hub/model_folder.h"

namespace fulgurite::test {

/// Gives the tensors of a model fixed values, in the order of their names in files.
template <class Model>
void fill_in_file_order(Model& model) {
  const NoGrad no_grad;
  double phase = 0;
  for (const auto& [name, tensor] : tensors_in_files(model)) {
    const Tensor places = arange(tensor.numel(), {.dtype = Dtype::f64});
    Tensor values = sin(places + phase) * 0.5;
    if (name.ends_with("running_var")) values = abs(values) + 0.5;
    if (is_floating(tensor.dtype())) copy_(tensor, reshape(values, tensor.shape()));
    phase += 0.7;
  }
}

/// A model that a config describes, in evaluation mode, with the values of fill_in_file_order.
template <class Model>
Model image_model(const std::string& config, Dtype dtype = Dtype::f32) {
  Model model = Model::from_config(hub::Config(config), models::LayerMaker{.initialize = true, .dtype = dtype});
  fill_in_file_order(model);
  nn::eval(model);
  return model;
}

/// cos(0.37 i) for each number i of the images.
inline Tensor some_images(const Dims& sizes) {
  const Tensor places = arange(sizes.numel(), {.dtype = Dtype::f64});
  return reshape(cos(places * 0.37), sizes).to(Dtype::f32);
}

inline std::string small_vit_config(const std::string& more = "") {
  return R"({"model_type": "vit", "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2,
  "intermediate_size": 12, "image_size": 8, "patch_size": 4, "dtype": "float32",
  "id2label": {"0": "cat", "1": "dog", "2": "bird"})" +
         more + "}\n";
}

inline std::string small_resnet_config(const std::string& more = "") {
  return R"({"model_type": "resnet", "embedding_size": 4, "hidden_sizes": [8, 12], "depths": [1, 2],
  "num_labels": 3, "dtype": "float32")" +
         more + "}\n";
}

/// `text` is more of the text tower's config, `vision` of the other's.
inline std::string small_clip_config(const std::string& text = "", const std::string& vision = "") {
  const std::string tower = R"({"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2,
  "intermediate_size": 12, )";
  return R"({"model_type": "clip", "projection_dim": 6, "dtype": "float32", "text_config": )" + tower +
         R"("vocab_size": 22, "max_position_embeddings": 10)" + text + R"(}, "vision_config": )" + tower +
         R"("image_size": 8, "patch_size": 4)" + vision + "}}\n";
}

}  // namespace fulgurite::test
