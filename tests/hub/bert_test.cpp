#include <filesystem>

#include <fulgurite/fulgurite.h>

#include "hub/bert_folder.h"
#include "support/layer_values.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

TEST("padding does not change the features of tokens") {
  const models::Bert model = small_bert();
  const NoGrad no_grad;
  const Tensor alone = model(tensor({{2, 4, 5, 3}}));
  const Tensor mask = tensor({{1, 1, 1, 1, 0, 0}});
  const Tensor padded = model(tensor({{2, 4, 5, 3, 7, 8}}), mask);
  expect_near(values(narrow(padded, 1, 0, 4)), values(alone));
  const Tensor with_bool = model(tensor({{2, 4, 5, 3, 7, 8}}), mask.to(Dtype::boolean));
  expect_equal(values(with_bool), values(padded));
  expect_equal(model.pooled(alone).shape(), Shape({1, 8}));
}

TEST("types of tokens are 0 unless they are given") {
  const models::Bert model = small_bert();
  const NoGrad no_grad;
  const Tensor tokens = tensor({{2, 4, 3, 5, 3}});
  const Tensor plain = model(tokens);
  expect_near(values(model(tokens, {}, zeros({1, 5}, {.dtype = Dtype::i64}))), values(plain));
  expect(!allclose(model(tokens, {}, tensor({{0, 0, 0, 1, 1}})), plain));
}

TEST("a folder may lack the pooler, and have a head and its prefix") {
  const TestFolder folder;
  const models::Bert model = small_bert();
  write_bert(folder, model);
  TensorMap tensors;
  for (const auto& [name, tensor] : load_safetensors(folder.file("model.safetensors")))
    if (!name.starts_with("pooler.")) tensors["bert." + name] = tensor;
  tensors["cls.predictions.bias"] = zeros({9});
  tensors["bert.embeddings.position_ids"] = arange(24);
  save_safetensors(folder.file("model.safetensors"), tensors);
  const auto loaded = hub::load<models::Bert>(folder.path);
  expect(!loaded.pooler.dense.weight.defined());
  const Tensor tokens = tensor({{2, 4, 3}});
  const NoGrad no_grad;
  expect_equal(values(loaded(tokens)), values(model(tokens)));
  tensors.erase("bert.embeddings.LayerNorm.bias");
  save_safetensors(folder.file("model.safetensors"), tensors);
  try {
    hub::load<models::Bert>(folder.path);
    fail("a folder without a tensor was loaded");
  } catch (const hub::LoadError& error) {
    expect_equal(error.missing, std::vector<std::string>{"embeddings.LayerNorm.bias"});
  }
}

TEST("RoBERTa's positions begin behind those of padding") {
  std::string config = small_bert_config;
  config.replace(config.find("bert"), 4, "roberta");
  const auto model = models::Bert::from_config(hub::Config(config), models::LayerMaker());
  expect_equal(model.embeddings.first_position, int64_t{2});
  config.replace(config.find("roberta"), 7, "deberta");
  expect_error([&] { models::Bert::from_config(hub::Config(config), models::LayerMaker()); },
               "config.json: \"model_type\" is \"deberta\", which is not supported; models::Bert has bert, roberta and "
               "xlm-roberta");
}
