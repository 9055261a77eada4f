#include <fulgurite/fulgurite.h>

#include "hub/model_folder.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

// A folder with the small model, whose tensors `change` may replace.
void write_folder(const TestFolder& folder, const std::function<void(TensorMap&)>& change = {},
                  const std::string& more = "") {
  TensorMap tensors = tensors_in_files(small_llama());
  if (change) change(tensors);
  save_safetensors(folder.file("model.safetensors"), tensors, {{"format", "pt"}});
  write_text(folder.file("config.json"), small_llama_config(more));
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

// The message, with the folder's path replaced.
std::string load_error(const TestFolder& folder, const hub::LoadOptions& options = {}) {
  std::string message = message_of([&] { hub::load<models::Llama>(folder.path, options); });
  replace_all(message, folder.path, "DIR");
  return message;
}

}  // namespace

TEST("a model is loaded with its values, requires gradients, and trains without changing its files") {
  const TestFolder folder;
  write_folder(folder);
  const std::string before = read_text(folder.file("model.safetensors"));
  const models::Llama original = small_llama();
  const auto model = hub::load<models::Llama>(folder.path);
  const Tensor tokens = tensor(std::vector<int64_t>{1, 5, 3, 2}).reshape({1, 4});
  expect_equal(model(tokens).to_vector<float>(), original(tokens).to_vector<float>());
  expect_equal(nn::parameters(model).size(), nn::parameters(original).size());
  optim::SGD optimizer(nn::parameters(model), {.lr = 0.5});
  model.loss(tokens, tokens).backward();
  optimizer.step();
  expect_different(model(tokens).to_vector<float>(), original(tokens).to_vector<float>());
  expect_equal(read_text(folder.file("model.safetensors")), before);
}

TEST("the dtype is the files', or the one of the options") {
  const TestFolder folder;
  write_folder(folder, [](TensorMap& tensors) {
    for (auto& [name, tensor] : tensors) tensor = tensor.detach().to(Dtype::bf16);
  });
  expect_equal(hub::load<models::Llama>(folder.path).lm_head.weight.dtype(), Dtype::bf16);
  const auto wide = hub::load<models::Llama>(folder.path, {.dtype = Dtype::f32});
  expect_equal(wide.lm_head.weight.dtype(), Dtype::f32);
  expect(wide.lm_head.weight.requires_grad());
  expect_equal(load_error(folder, {.dtype = Dtype::i32}), "hub::load: dtype must be a floating-point dtype, it is i32");
}

TEST("tied tensors are one tensor, also where the files have only one of them") {
  const TestFolder folder;
  write_folder(
      folder, [](TensorMap& tensors) { tensors.erase("lm_head.weight"); }, R"(, "tie_word_embeddings": true)");
  const auto model = hub::load<models::Llama>(folder.path);
  expect(is_same_view(model.lm_head.weight, model.model.embed_tokens.weight));
  expect_equal(nn::named_parameters(model).back().first, std::string("model.norm.weight"));
}

TEST("the embedding of the token for padding gets no gradient") {
  const auto gradients = [](const std::string& more) {
    const models::Llama model = small_llama(more);
    const Tensor tokens = tensor({{1, 3, 2, 3, 5}});
    model.loss(tokens, tokens).backward();
    return model.model.embed_tokens.weight.grad().abs().sum(-1).to_vector<float>();
  };
  const std::vector<float> none = gradients(""), padded = gradients(R"(, "pad_token_id": 3)");
  expect_greater(none[3], 0);
  expect_equal(padded[3], 0.0f);
  expect_equal(padded[2], none[2]);
  expect_equal(gradients(R"(, "pad_token_id": -10)")[3], 0.0f);  // counts from the end of 13
  expect_equal(gradients(R"(, "pad_token_id": null)")[3], none[3]);
  expect_equal(gradients(R"(, "pad_token_id": 13)")[3], none[3]);
}

TEST("all differences of files and model are reported at once, layers grouped") {
  const TestFolder folder;
  write_folder(folder, [](TensorMap& tensors) {
    for (const char* layer : {"0", "1", "2"})
      tensors.erase("model.layers." + std::string(layer) + ".self_attn.q_proj.weight");
    tensors.erase("model.layers.1.mlp.up_proj.weight");
    tensors["model.norm.weight"] = ones({8});
    tensors["score.weight"] = ones({2});
  });
  expect_equal(load_error(folder),
               std::string("the files of \"DIR\" do not fit the model that its config.json describes\n"
                           "  missing in the files:\n"
                           "    model.layers.{0..2}.self_attn.q_proj.weight (3 tensors)\n"
                           "    model.layers.1.mlp.up_proj.weight\n"
                           "  not in the model:\n"
                           "    score.weight\n"
                           "  of another shape:\n"
                           "    model.norm.weight: [8] in the files, [16] in the model"));
  try {
    hub::load<models::Llama>(folder.path);
  } catch (const hub::LoadError& error) {
    expect_equal(error.missing.size(), 4u);
    expect_equal(error.unexpected, std::vector<std::string>{"score.weight"});
    expect_equal(error.misshapen.at(0).in_model, std::vector<int64_t>{16});
  }
}

TEST("unexpected tensors are an error unless strict is false") {
  const TestFolder folder;
  write_folder(folder, [](TensorMap& tensors) { tensors["score.weight"] = ones({2}); });
  expect_different(load_error(folder).find("not in the model:\n    score.weight"), std::string::npos);
  expect_equal(hub::load<models::Llama>(folder.path, {.strict = false}).model.layers.size(), 3u);
}

TEST("folders that cannot be loaded are refused with the reason") {
  const TestFolder folder;
  expect_equal(load_error(folder), "\"DIR\" has no config.json");
  expect_equal(message_of([] { hub::load<models::Llama>("/nowhere"); }),
               "\"/nowhere\" is not a folder of a model (config.json and *.safetensors)");
  write_text(folder.file("config.json"), small_llama_config());
  expect_equal(load_error(folder), "\"DIR\" has neither model.safetensors nor model.safetensors.index.json");
  write_text(folder.file("pytorch_model.bin"), "x");
  expect_equal(
      load_error(folder),
      "\"DIR\" has pytorch_model.bin, but no model.safetensors. Pickled files run code when they are read and "
      "are not supported: save the model with transformers' save_pretrained(folder), which writes safetensors");
  write_text(folder.file("model.safetensors"), "short");
  expect_equal(load_error(folder), "\"DIR/model.safetensors\" is too short for a safetensors file");
  write_text(folder.file("model.safetensors"), std::string(64, '\x7f'));
  expect(load_error(folder).find("\"DIR/model.safetensors\" is not a safetensors file: ") == 0, load_error(folder));
}

TEST("an index must name files in the folder that have the tensors") {
  const TestFolder folder;
  write_folder(folder);
  const auto with_index = [&](const std::string& text) {
    write_text(folder.file("model.safetensors.index.json"), text);
    return load_error(folder);
  };
  const std::string index = "\"DIR/model.safetensors.index.json\" is not an index of safetensors files: ";
  expect_equal(with_index(R"({"weight_map": {"a": "../x.safetensors"}})"),
               index + "tensor a is in ../x.safetensors, which is not the name of a file in the folder");
  expect_equal(with_index(R"({"weight_map": {"a": "none.safetensors"}})"),
               "\"DIR/none.safetensors\" is missing; \"DIR/model.safetensors.index.json\" lists it");
  expect_equal(with_index(R"({"weight_map": {"a": "model.safetensors"}})"),
               "\"DIR/model.safetensors\" does not have the tensor a, which \"DIR/model.safetensors.index.json\" lists "
               "there");
  expect_equal(with_index(R"({"weight_map": {}})"), "\"DIR/model.safetensors.index.json\" lists no tensors");
  expect_equal(with_index("[]").find(index), 0);
}

TEST("two files may not have tensors of one name") {
  const TestFolder folder;
  write_folder(folder);
  const TensorMap norm{{"model.norm.weight", ones({16})}};
  save_safetensors(folder.file("other.safetensors"), norm);
  write_text(folder.file("model.safetensors.index.json"),
             R"({"weight_map": {"model.norm.weight": "other.safetensors", "lm_head.weight": "model.safetensors"}})");
  expect_equal(load_error(folder),
               "\"DIR/other.safetensors\" has the tensor model.norm.weight, which "
               "\"DIR/model.safetensors\" has too");
}

TEST("configurations that the library does not have are refused with key and value") {
  const auto refusal = [](const std::string& more) { return message_of([&] { small_llama(more); }); };
  expect_equal(
      refusal(R"(, "hidden_act": "laplace")"),
      "config.json: \"hidden_act\" is \"laplace\", which is not supported; there are " + models::activation_names());
  expect_equal(
      refusal(R"(, "rope_scaling": {"type": "proportional"})"),
      "config.json, rope_scaling: \"type\" is \"proportional\", which is not supported; there are default, linear, "
      "dynamic, llama3, yarn and longrope");
  expect_equal(refusal(R"(, "rope_theta": "big")"), "config.json: \"rope_theta\" must be a number");
  expect_equal(message_of([] {
                 models::Llama::from_config(hub::Config(R"({"model_type": "mamba", "vocab_size": 3,
      "hidden_size": 4, "intermediate_size": 4, "num_hidden_layers": 1, "num_attention_heads": 1})"),
                                            {});
               }),
               "config.json: \"model_type\" is \"mamba\", which is not supported; models::Llama has llama, mistral, "
               "qwen2, qwen3, smollm3, olmo2 and granite");
  expect_equal(message_of([] { hub::Config("{}").model_type(); }), "config.json: there is no \"model_type\"");
  expect_equal(message_of([] { hub::Config("[1]"); }), "config.json: it is not a JSON object");
}

TEST("tensors of one file are memories of their own: a jitted step may write into one and read another") {
  const TestFolder folder;
  write_text(folder.file("config.json"), small_llama_config());
  hub::save(small_llama(), folder.path, {.like = folder.path});
  const auto model = hub::load<models::Llama>(folder.path);
  expect(!shares_memory(model.model.norm.weight, model.lm_head.weight));
  optim::SGD optimizer(nn::parameters(model), {.lr = 0.1});
  const auto step = jit([&](Tensor tokens) {
    Tensor loss = model.loss(tokens, tokens);
    optimizer.step(nn::parameters(model), autograd::grad({loss}, nn::parameters(model)));
    return loss;
  });
  const Tensor tokens = tensor({{3, 1, 4, 1, 5}});
  const double first = step(tokens).item<double>();
  expect_less(step(tokens).item<double>(), first);
}
