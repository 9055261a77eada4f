#include <optional>
#include <span>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "hub/gguf/gguf_model.h"
#include "support/text/text.h"
#include "support/text/utf8.h"

namespace fulgurite::hub::gguf {

namespace {

struct Renamed {
  const char *from, *to;
};

constexpr Renamed outer_names[] = {
    {"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm"}, {"output", "lm_head"}};
constexpr Renamed layer_names[] = {{"attn_norm", "input_layernorm"},    {"ffn_norm", "post_attention_layernorm"},
                                   {"attn_q", "self_attn.q_proj"},      {"attn_k", "self_attn.k_proj"},
                                   {"attn_v", "self_attn.v_proj"},      {"attn_output", "self_attn.o_proj"},
                                   {"attn_q_norm", "self_attn.q_norm"}, {"attn_k_norm", "self_attn.k_norm"},
                                   {"ffn_gate", "mlp.gate_proj"},       {"ffn_up", "mlp.up_proj"},
                                   {"ffn_down", "mlp.down_proj"}};

std::optional<std::string_view> find_name(std::span<const Renamed> names, std::string_view from) {
  for (const Renamed& name : names)
    if (name.from == from) return name.to;
  return std::nullopt;
}

// "blk.3.attn_q.weight" becomes "model.layers.3.self_attn.q_proj.weight"; empty if the name is not known.
std::string renamed(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return "";
  std::string_view body = name.substr(0, dot);
  const std::string_view ending = name.substr(dot);
  if (!body.starts_with("blk.")) {
    const auto to = find_name(outer_names, body);
    return to ? text::cat(*to, ending) : "";
  }
  body.remove_prefix(4);
  const size_t end = body.find('.');
  if (end == std::string_view::npos) return "";
  const auto to = find_name(layer_names, body.substr(end + 1));
  return to ? text::cat("model.layers.", body.substr(0, end), ".", *to, ending) : "";
}

// llama.cpp rotates neighbors, transformers the two halves of a head: rows (or elements of a bias) are reordered.
Tensor with_halves(const Tensor& tensor, int64_t heads) {
  const Shape sizes = tensor.shape();
  const std::vector<int64_t> shape(sizes.begin(), sizes.end());
  if (heads < 1 || shape.empty() || shape[0] % (2 * heads) != 0)
    throw UserError("the GGUF file's attention has heads that do not divide its rows");
  const int64_t inner = shape.size() > 1 ? shape[1] : 1;
  const Tensor pairs = reshape(tensor, {heads, shape[0] / heads / 2, 2, inner});
  return reshape(transpose(pairs, 1, 2), shape).contiguous();
}

}  // namespace

TensorMap converted_tensors(const GgufFile& file, Dtype dtype) {
  const bool has_pairs = file.string("general.architecture", "") == "llama";
  const int64_t heads = file.integer("llama.attention.head_count", 1);
  const int64_t key_value_heads = file.integer("llama.attention.head_count_kv", heads);
  TensorMap out;
  for (const std::string& name : file.names()) {
    if (name == "rope_freqs.weight") continue;
    const std::string to = renamed(name);
    if (to.empty())
      throw UserError(text::cat("the GGUF file has the tensor ", printable(name), ", which is not known"));
    Tensor tensor = file.load(name);
    if (has_pairs && to.find("q_proj") != std::string::npos) tensor = with_halves(tensor, heads);
    if (has_pairs && to.find("k_proj") != std::string::npos) tensor = with_halves(tensor, key_value_heads);
    out.emplace(to, tensor.to(dtype));
  }
  return out;
}

}  // namespace fulgurite::hub::gguf
