#include <algorithm>
#include <cstring>

#include <fulgurite/datasets.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "io/atomic_file.h"
#include "io/byte_source.h"
#include "ops/core/dispatch.h"
#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::data {

struct TokenDataset::Source {
  std::shared_ptr<const ByteSource> file;  // or
  Tensor tokens;                           // i64
  int64_t count = 0;
  TokenDatasetOptions options;

  int64_t stride() const { return options.stride == 0 ? options.length : options.stride; }
  int64_t size() const { return (count - 1 - options.length) / stride() + 1; }

  // `wanted` tokens from `first` on.
  Tensor read(int64_t first, int64_t wanted) const {
    if (!file) return narrow(tokens, 0, first, wanted);
    const auto width = static_cast<size_t>(options.token_bytes);
    std::vector<unsigned char> bytes(static_cast<size_t>(wanted) * width);
    file->read(static_cast<uint64_t>(first) * width, bytes.data(), bytes.size());
    std::vector<int64_t> out(static_cast<size_t>(wanted));
    for (size_t i = 0; i < out.size(); ++i)
      for (size_t j = width; j-- > 0;) out[i] = out[i] << 8 | bytes[i * width + j];
    return tensor(out);
  }
};

namespace {

void check(const TokenDatasetOptions& options, SourceLocation at) {
  if (options.length < 1)
    throw UserError(text::cat("TokenDataset: length must be at least 1, not ", options.length), at);
  if (options.stride < 0) throw UserError(text::cat("TokenDataset: stride must not be negative: ", options.stride), at);
  if (options.token_bytes != 2 && options.token_bytes != 4)
    throw UserError(text::cat("TokenDataset: tokens have 2 or 4 bytes, not ", options.token_bytes), at);
}

void check_count(int64_t count, const TokenDatasetOptions& options, std::string_view label, SourceLocation at) {
  if (count <= options.length)
    throw UserError(text::cat("TokenDataset: ", label, " has ", count, " tokens; a sample of length ", options.length,
                              " needs ", options.length + 1),
                    at);
}

}  // namespace

TokenDataset::TokenDataset(const std::string& path, const TokenDatasetOptions& options, SourceLocation at) {
  check(options, at);
  auto source = std::make_shared<Source>();
  source->file = open_file(path);
  source->options = options;
  const uint64_t width = static_cast<uint64_t>(options.token_bytes), bytes = source->file->size();
  if (bytes % width != 0)
    throw UserError(text::cat("TokenDataset: ", path, " has ", bytes, " bytes, no multiple of ", width), at);
  source->count = static_cast<int64_t>(bytes / width);
  check_count(source->count, options, path, at);
  source_ = std::move(source);
}

TokenDataset::TokenDataset(const Tensor& tokens, const TokenDatasetOptions& options, SourceLocation at) {
  check(options, at);
  if (!tokens.defined() || tokens.ndim() != 1 || !is_integer(tokens.dtype()))
    throw UserError("TokenDataset: the tokens are an integer tensor of one dimension", at);
  auto source = std::make_shared<Source>();
  source->tokens = tokens.to(Dtype::i64, at);
  source->count = tokens.size(0);
  source->options = options;
  check_count(source->count, options, "the tensor", at);
  source_ = std::move(source);
}

int64_t TokenDataset::size() const { return source_->size(); }
int64_t TokenDataset::tokens() const { return source_->count; }

std::pair<Tensor, Tensor> TokenDataset::get(int64_t index) const {
  if (index < 0 || index >= size()) data_detail::refuse_index(index, size(), SourceLocation());
  const int64_t length = source_->options.length;
  const Tensor chunk = source_->read(index * source_->stride(), length + 1);
  return {narrow(chunk, 0, 0, length), narrow(chunk, 0, 1, length)};
}

void save_tokens(const std::string& path, const Tensor& tokens, int64_t token_bytes, SourceLocation at) {
  if (token_bytes != 2 && token_bytes != 4)
    throw UserError(text::cat("save_tokens: tokens have 2 or 4 bytes, not ", token_bytes), at);
  if (!tokens.defined() || !is_integer(tokens.dtype()))
    throw UserError("save_tokens: the tokens are an integer tensor", at);
  act_immediately("data::save_tokens()", at);
  const int64_t end = int64_t{1} << (8 * token_bytes);
  std::string bytes;
  for (const int64_t token : tokens.to(Dtype::i64, at).contiguous(at).to_vector<int64_t>()) {
    if (token < 0 || token >= end)
      throw UserError(text::cat("save_tokens: the token ", token, " does not fit into ", token_bytes, " bytes"), at);
    for (int64_t i = 0; i < token_bytes; ++i) bytes += static_cast<char>(token >> (8 * i) & 255);
  }
  write_file(path, bytes);
}

}  // namespace fulgurite::data
