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

namespace {

void add_codes(const nn::QuantizedWeight& weight, const std::string& name, TensorMap& out) {
  out.emplace(name + ".codes", weight.codes);
  out.emplace(name + ".scales", weight.scales);
  if (weight.minima.defined()) out.emplace(name + ".minima", weight.minima);
}

// An output layer that has the embedding's weight gets its codes.
void add_tied_codes(const GgufFile& file, TensorMap& out) {
  if (file.contains("output.weight") || !file.contains("token_embd.weight")) return;
  if (const auto weight = file.load_codes("token_embd.weight")) add_codes(*weight, "lm_head.weight", out);
}

}  // namespace

TensorMap converted_tensors(const GgufFile& file, const ConvertOptions& options) {
  const bool has_pairs = file.string("general.architecture", "") == "llama";
  const int64_t heads = file.integer("llama.attention.head_count", 1);
  const int64_t key_value_heads = file.integer("llama.attention.head_count_kv", heads);
  TensorMap out;
  for (const std::string& name : file.names()) {
    if (name == "rope_freqs.weight") continue;
    const std::string to = renamed(name);
    if (to.empty())
      throw UserError(text::cat("the GGUF file has the tensor ", printable(name), ", which is not known"));
    const int64_t rotated = !has_pairs                               ? 0
                            : to.find("q_proj") != std::string::npos ? heads
                            : to.find("k_proj") != std::string::npos ? key_value_heads
                                                                     : 0;
    const auto ordered = [&](const Tensor& rows) {
      return rotated > 0 && rows.defined() ? with_halves(rows, rotated) : rows;
    };
    const bool may_have_codes = options.keeps_codes && to != "model.embed_tokens.weight";
    if (const auto weight = may_have_codes ? file.load_codes(name) : std::nullopt)
      add_codes({ordered(weight->codes), ordered(weight->scales), ordered(weight->minima)}, to, out);
    else out.emplace(to, ordered(file.load(name)).to(options.dtype));
  }
  if (options.keeps_codes) add_tied_codes(file, out);
  return out;
}

}  // namespace fulgurite::hub::gguf
