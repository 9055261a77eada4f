#include <cmath>

#include <fulgurite/extend.h>
#include <fulgurite/fulgurite.h>

#include "hub/model_folder.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

const std::string sizes = R"("vocab_size": 13, "hidden_size": 24, "intermediate_size": 20, "num_hidden_layers": 2,
  "num_attention_heads": 4, "num_key_value_heads": 2, "pad_token_id": 4)";

// A model in a dtype, whose weights are drawn in f32.
template <class Model>
Model make(const std::string& config, Dtype dtype) {
  manual_seed(5);
  auto model = Model::from_config(hub::Config("{" + config + "}"), models::LayerMaker());
  const NoGrad no_grad;
  for (const Tensor& parameter : nn::parameters(model)) nn::normal_(parameter, 0.0, 0.3);
  nn::to(model, dtype);
  return model;
}

Tensor tokens() { return tensor({{1, 5, 3, 4, 9, 11, 2, 6, 7}, {4, 4, 8, 1, 0, 12, 3, 3, 10}}); }

// The loss and the gradients of all parameters, in f64.
template <class Model>
std::vector<Tensor> results(const Model& model, const std::function<Tensor(const Model&, Tensor, Tensor)>& loss) {
  std::vector<Tensor> out;
  const Tensor value = loss(model, tokens(), roll(tokens(), -1, 1));
  value.backward();
  out.push_back(value.detach().to(Dtype::f64));
  for (const Tensor& parameter : nn::parameters(model)) out.push_back(parameter.grad().to(Dtype::f64));
  return out;
}

template <class Model>
void check(const std::string& family, const std::string& config) {
  const auto function = [](Model m, Tensor x, Tensor y) { return m.loss(x, y); };
  const std::vector<Tensor> expected = results<Model>(make<Model>(config, Dtype::f64), function);
  const auto compare = [&](const std::vector<Tensor>& got, double tolerance, const std::string& way) {
    expect_equal(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
      const double scale = std::max(expected[i].abs().max().item<double>(), 1e-3);
      const double far = (got[i] - expected[i]).abs().max().item<double>() / scale;
      expect(far < tolerance,
             family + ", " + way + ": result " + std::to_string(i) + " differs by " + std::to_string(far));
    }
  };
  const auto compiled = [&](Dtype dtype, const std::vector<std::string>& executors) {
    const auto f = jit(function, {.executors = executors, .fullgraph = true});
    return results<Model>(make<Model>(config, dtype), [f](const Model& m, Tensor x, Tensor y) { return f(m, x, y); });
  };
  compare(compiled(Dtype::f64, {"eager"}), 1e-10, "f64 by the eager executor");
  compare(compiled(Dtype::f32, default_executors()), 1e-4, "f32 by all executors");
  compare(results<Model>(make<Model>(config, Dtype::f32), function), 1e-4, "f32 without jit");
  compare(compiled(Dtype::bf16, default_executors()), 0.2, "bf16 by all executors");
}

}  // namespace

TEST("losses and gradients of Gemmas are equal eagerly, jitted, and in all dtypes") {
  check<models::Gemma>("gemma2", R"("model_type": "gemma2", "head_dim": 8, "sliding_window": 4,
    "attn_logit_softcapping": 2.5, "query_pre_attn_scalar": 12, )" +
                                     sizes);
  check<models::Gemma>("gemma3", R"("model_type": "gemma3_text", "head_dim": 8, "sliding_window": 4,
    "sliding_window_pattern": 2, "query_pre_attn_scalar": 8, )" +
                                     sizes);
}

TEST("losses and gradients of Phis are equal eagerly, jitted, and in all dtypes") {
  check<models::Phi>("phi", R"("model_type": "phi", "qk_layernorm": true, "partial_rotary_factor": 0.34, )" + sizes);
  check<models::Phi3>("phi3", R"("model_type": "phi3", "original_max_position_embeddings": 6, "rope_scaling": {
    "type": "longrope", "short_factor": [1, 1, 1], "long_factor": [2, 3, 4]}, )" +
                                  sizes);
}

TEST("losses and gradients of T5 are equal eagerly, jitted, and in all dtypes") {
  check<models::T5>("t5", R"("model_type": "t5", "vocab_size": 13, "d_model": 24, "d_kv": 8, "d_ff": 20,
    "num_layers": 2, "num_heads": 2, "feed_forward_proj": "gated-gelu", "relative_attention_num_buckets": 4,
    "relative_attention_max_distance": 5)");
}
