#include "hub/training/training_data.h"

#include <algorithm>
#include <filesystem>
#include <random>

#include <fulgurite/error.h>

#include "hub/files.h"
#include "io/json.h"
#include "support/text/text.h"
#include "support/text/utf8.h"

namespace fulgurite::hub {

namespace {

using Kind = json::Node::Kind;
constexpr int64_t ignored = -100;

int64_t code_points(std::string_view text) {
  int64_t count = 0;
  for (size_t at = 0; at < text.size(); ++count)
    if (next_code_point(text, at) < 0) ++at;
  return count;
}

void append_end(TrainingData& data, const Tokenizer& tokenizer) {
  const std::vector<int64_t> ends = tokenizer.end_tokens();
  if (ends.empty()) return;
  data.tokens.push_back(ends.front());
  data.targets.push_back(ends.front());
}

void append(TrainingData& to, const TrainingData& more) {
  to.tokens.insert(to.tokens.end(), more.tokens.begin(), more.tokens.end());
  to.targets.insert(to.targets.end(), more.targets.begin(), more.targets.end());
  to.examples += std::max<int64_t>(more.examples, 1);
}

// A range of code points of a text.
struct LearnedRange {
  int64_t begin, end;
};

// Tokens within one of the ranges are learned.
TrainingData tokens_of(std::string_view text, const std::vector<LearnedRange>& learned, const Tokenizer& tokenizer,
                       bool add_special_tokens) {
  const Encoding encoding = tokenizer.encode(text, {.add_special_tokens = add_special_tokens});
  TrainingData out;
  out.tokens = encoding.ids;
  for (size_t i = 0; i < encoding.ids.size(); ++i) {
    const auto [begin, end] = encoding.offsets[i];
    const bool is_learned =
        std::any_of(learned.begin(), learned.end(), [begin = begin, end = end](const LearnedRange& range) {
          return begin >= range.begin && end <= range.end && end > begin;
        });
    out.targets.push_back(is_learned ? encoding.ids[i] : ignored);
  }
  return out;
}

const std::string& text_member(const json::Node& object, std::string_view key) {
  const json::Node* node = object.find(key);
  if (node == nullptr || !node->is(Kind::string)) throw UserError(text::cat("\"", key, "\" must be a text"));
  return node->string;
}

TrainingData tokens_of_example(const json::Node& line, const Tokenizer& tokenizer) {
  if (!line.is(Kind::object)) throw UserError("it is not a JSON object");
  if (const json::Node* list = line.find("messages")) {
    std::vector<ChatMessage> messages;
    for (const json::Node& message : list->items)
      messages.push_back({text_member(message, "role"), text_member(message, "content")});
    return tokens_of_conversation(messages, tokenizer);
  }
  TrainingData out;
  if (line.find("prompt") != nullptr) {
    const std::string& prompt = text_member(line, "prompt");
    const std::string text = prompt + text_member(line, "completion");
    out = tokens_of(text, {{code_points(prompt), code_points(text)}}, tokenizer, true);
  } else {
    if (line.find("text") == nullptr) throw UserError("it has none of \"text\", \"prompt\" and \"messages\"");
    out.tokens = out.targets = tokenizer.encode(text_member(line, "text")).ids;
  }
  append_end(out, tokenizer);
  return out;
}

TrainingData read_lines(const std::string& path, const Tokenizer& tokenizer) {
  const std::string content = hub::read_text(path);
  TrainingData out;
  int64_t number = 0;
  for (size_t begin = 0; begin < content.size();) {
    const size_t end = std::min(content.find('\n', begin), content.size());
    const std::string_view line = std::string_view(content).substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    try {
      append(out, tokens_of_example(json::parse(line), tokenizer));
    } catch (const UserError& error) {
      throw UserError(text::cat("\"", path, "\", line ", number, ": ", error.what()));
    }
  }
  return out;
}

// The files of a folder that have texts, in the order of their names.
std::vector<std::string> text_files(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string extension = entry.path().extension();
    if (entry.is_regular_file() && (extension == ".txt" || extension == ".md" || extension == ".jsonl"))
      out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  if (out.empty()) throw UserError(text::cat("\"", folder, "\" has no .txt, .md or .jsonl file"));
  return out;
}

}  // namespace

TrainingData tokens_of_conversation(const std::vector<ChatMessage>& messages, const Tokenizer& tokenizer) {
  const std::string text = tokenizer.apply_chat_template(messages);
  std::vector<LearnedRange> learned;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role != "assistant") continue;
    const auto first = messages.begin(), at = first + static_cast<std::ptrdiff_t>(i);
    const std::string before = tokenizer.apply_chat_template({first, at}, {.add_generation_prompt = true});
    const std::string with = tokenizer.apply_chat_template({first, at + 1});
    if (!with.starts_with(before) || !text.starts_with(with))
      throw UserError(
          "the chat template changes earlier text when a message is added: the assistant's cannot be found");
    learned.push_back({code_points(before), code_points(with)});
  }
  return tokens_of(text, learned, tokenizer, false);
}

TrainingData read_training_data(const std::string& path, const Tokenizer& tokenizer) {
  if (std::filesystem::is_directory(path)) {
    TrainingData out;
    for (const std::string& file : text_files(path)) append(out, read_training_data(file, tokenizer));
    return out;
  }
  if (path.ends_with(".jsonl")) return read_lines(path, tokenizer);
  TrainingData out;
  try {
    out.tokens = out.targets = tokenizer.encode(hub::read_text(path)).ids;
  } catch (const UserError& error) {
    throw UserError(text::cat("\"", path, "\": ", error.what()));
  }
  append_end(out, tokenizer);
  out.examples = 1;
  return out;
}

BlockSampler::BlockSampler(TrainingData data, int64_t length, uint64_t seed)
    : data_(std::move(data)), length_(length), seed_(seed) {
  const auto count = static_cast<int64_t>(data_.tokens.size());
  for (int64_t begin = 0; begin + length_ < count; begin += length_) {
    const auto first = data_.targets.begin() + begin + 1, last = first + length_;
    if (std::any_of(first, last, [](int64_t target) { return target != ignored; })) order_.push_back(begin);
  }
  if (order_.empty())
    throw UserError(text::cat("the data have ", count, " tokens; --length ", length_, " needs at least ", length_ + 1,
                              " with something to learn"));
  shuffle(0);
}

void BlockSampler::shuffle(uint64_t epoch) {
  epoch_ = epoch;
  std::sort(order_.begin(), order_.end());
  std::mt19937_64 random(seed_ + 0x9E3779B97F4A7C15u * (epoch + 1));
  for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random() % i]);
  at_ = 0;
}

TokenBatch BlockSampler::next(int64_t rows) {
  TokenBatch batch;
  for (int64_t row = 0; row < rows; ++row) {
    if (at_ == order_.size()) shuffle(epoch_ + 1);
    const int64_t begin = order_[at_++];
    const auto token = data_.tokens.begin() + begin, target = data_.targets.begin() + begin + 1;
    batch.tokens.insert(batch.tokens.end(), token, token + length_);
    batch.targets.insert(batch.targets.end(), target, target + length_);
  }
  return batch;
}

void BlockSampler::seek(int64_t rows) {
  shuffle(static_cast<uint64_t>(rows / blocks()));
  at_ = static_cast<size_t>(rows % blocks());
}

}  // namespace fulgurite::hub
