#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <optional>
#include <string>

#include <fulgurite/detail/given.h>
#include <fulgurite/source_location.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::nn {

/// Arguments of embedding_bag beside the indices and the table; members are given in this order.
struct EmbeddingBagArguments {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  Tensor offsets = {};        // [bags], the position of each bag's first index, ascending from 0; for indices [count]
  std::string mode = "mean";  // "sum", "mean" or "max"
  Tensor per_sample_weights = {};    // of the indices' shape; only with "sum"
  bool include_last_offset = false;  // offsets end with the end of the last bag
  std::optional<int64_t> padding_idx = {};
  bool scale_grad_by_freq = false;  // a row's gradient is divided by how often the row is taken; not with "max"
};
/// The sum, mean or maximum of the rows of `weight`, [rows, width], that each bag of indices names: [bags, width].
/// Indices [bags, count] are bags of one length, indices [count] are divided by offsets. An index equal to padding_idx
/// does not count; a bag without indices gives zeros. Throws UserError for other shapes, modes and offsets.
/// (torch.nn.functional.embedding_bag)
Tensor embedding_bag(const Tensor& input, const Tensor& weight, const EmbeddingBagArguments& arguments = {},
                     SourceLocation at = SourceLocation::here());

/// Options of EmbeddingBag; members are given in this order.
struct EmbeddingBagOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  bool scale_grad_by_freq = false;
  std::string mode = "mean";  // "sum", "mean" or "max"
  bool include_last_offset = false;
  std::optional<int64_t> padding_idx = {};
  std::optional<Dtype> dtype = {};
};
/// A table of rows whose sums, means or maxima over bags of indices are looked up; see embedding_bag.
struct EmbeddingBag {
  Tensor weight;  // [num_embeddings, embedding_dim], normally distributed
  EmbeddingBagOptions options;
  EmbeddingBag() = default;
  EmbeddingBag(int64_t num_embeddings, int64_t embedding_dim, const EmbeddingBagOptions& options = {},
               SourceLocation at = SourceLocation::here());
  Tensor operator()(const Tensor& input, const Tensor& offsets = {}, const Tensor& per_sample_weights = {},
                    SourceLocation at = SourceLocation::here()) const;
  static void parts(auto& layer, auto&& member) {
    member("weight", layer.weight);
    member("mode", layer.options.mode);
    member("include_last_offset", layer.options.include_last_offset);
    member("padding_idx", layer.options.padding_idx);
    member("scale_grad_by_freq", layer.options.scale_grad_by_freq);
  }
};

}  // namespace fulgurite::nn
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
