#include <filesystem>

#include <fulgurite/fulgurite.h>

#include "hub/model_folder.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

void write_original(const TestFolder& folder) {
  save_safetensors(folder.file("model.safetensors"), tensors_in_files(small_llama()), {{"format", "pt"}});
  write_text(folder.file("config.json"), small_llama_config(R"(, "kept": [1, 2.50])"));
  write_text(folder.file("tokenizer.json"), "{\"a\":  1}\r\n");
  write_text(folder.file("README.md"), "not copied");
}

}  // namespace

TEST("a saved folder has the same tensors, config and tokenizer files") {
  const TestFolder original, out;
  write_original(original);
  const auto model = hub::load<models::Llama>(original.path);
  hub::save(model, out.path + "/new/folder", {.like = original.path});
  const std::string saved = out.path + "/new/folder/";
  for (const char* name : {"config.json", "tokenizer.json", "model.safetensors"})
    expect_equal(read_text(saved + name), read_text(original.file(name)));
  expect(!std::filesystem::exists(saved + "README.md"));
}

TEST("another dtype changes one word of the config") {
  const TestFolder original, out;
  write_original(original);
  hub::save(hub::load<models::Llama>(original.path, {.dtype = Dtype::bf16}), out.path, {.like = original.path});
  std::string expected = read_text(original.file("config.json"));
  expected.replace(expected.find("float32"), 7, "bfloat16");
  expect_equal(read_text(out.file("config.json")), expected);
  expect_equal(hub::load<models::Llama>(out.path).lm_head.weight.dtype(), Dtype::bf16);
}

TEST("a large model is saved as several files, and earlier files are removed") {
  const TestFolder folder;
  write_original(folder);
  const auto model = hub::load<models::Llama>(folder.path);
  hub::save(model, folder.path, {.like = folder.path, .shard_bytes = 8000});
  expect(!std::filesystem::exists(folder.file("model.safetensors")));
  const std::string index = read_text(folder.file("model.safetensors.index.json"));
  expect(index.find("\"lm_head.weight\": \"model-00004-of-00004.safetensors\"") != std::string::npos, index);
  const Tensor tokens = tensor(std::vector<int64_t>{1, 5, 3}).reshape({1, 3});
  expect_equal(hub::load<models::Llama>(folder.path)(tokens).to_vector<float>(), model(tokens).to_vector<float>());
  hub::save(model, folder.path, {.like = folder.path});
  expect(!std::filesystem::exists(folder.file("model.safetensors.index.json")));
  expect(!std::filesystem::exists(folder.file("model-00001-of-00004.safetensors")));
  expect_equal(hub::load<models::Llama>(folder.path)(tokens).to_vector<float>(), model(tokens).to_vector<float>());
}

TEST("tied tensors are saved once, under the embedding's name") {
  const TestFolder folder;
  const models::Llama model = small_llama(R"(, "tie_word_embeddings": true)");
  write_text(folder.file("config.json"), small_llama_config(R"(, "tie_word_embeddings": true)"));
  hub::save(model, folder.path, {.like = folder.path});
  const SafetensorsFile file(folder.file("model.safetensors"));
  expect(file.contains("model.embed_tokens.weight") && !file.contains("lm_head.weight"));
  expect_equal(file.metadata().at("format"), std::string("pt"));
}

TEST("saving needs the original's folder") {
  const TestFolder folder;
  const models::Llama model = small_llama();
  expect_error([&] { hub::save(model, folder.path, {}); }, "name the original's folder with .like");
  expect_error([&] { hub::save(model, folder.path, {.like = "/nowhere"}); }, "\"/nowhere/config.json\" cannot be read");
  expect_error([&] { hub::save(model, folder.path, {.like = folder.path, .shard_bytes = 0}); },
               "shard_bytes must be positive");
}
