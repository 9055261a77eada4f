#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <fulgurite/tokenizer.h>

namespace fulgurite::hub {

/// Texts as one row of tokens, each followed by the token that ends a text.
struct TrainingData {
  std::vector<int64_t> tokens;
  std::vector<int64_t> targets;  // the token itself where it is learned; -100 for prompts and other speakers
  int64_t examples = 0;
};

/// Reads a file: .jsonl has an object a line with "text", with "prompt" and "completion" (the completion is learned),
/// or with "messages" (the assistant's are learned); any other file is one text. Of a folder, all .txt, .md and .jsonl
/// files in it, in the order of their names. UserError naming the line.
TrainingData read_training_data(const std::string& path, const Tokenizer& tokenizer);

/// A conversation's tokens; those of the assistant's messages are learned. UserError if the chat template changes
/// earlier text when a message is added.
TrainingData tokens_of_conversation(const std::vector<ChatMessage>& messages, const Tokenizer& tokenizer);

/// A batch: tokens and, for each, the token after it.
struct TokenBatch {
  std::vector<int64_t> tokens, targets;  // [rows, length]
};

/// Blocks of equal length in random order; each epoch has all of them that have something to learn.
class BlockSampler {
 public:
  /// UserError if the data are shorter than a block.
  BlockSampler(TrainingData data, int64_t length, uint64_t seed);
  TokenBatch next(int64_t rows);
  /// Continues as after `rows` rows.
  void seek(int64_t rows);
  int64_t blocks() const { return static_cast<int64_t>(order_.size()); }

 private:
  void shuffle(uint64_t epoch);
  TrainingData data_;
  int64_t length_;
  uint64_t seed_, epoch_ = 0;
  std::vector<int64_t> order_;  // the blocks' first tokens
  size_t at_ = 0;
};

}  // namespace fulgurite::hub
