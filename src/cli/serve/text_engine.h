#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fulgurite/hub.h>

#include "hub/generation/text_of_tokens.h"

namespace fulgurite::cli {

/// A step of a text: what a token adds to it.
struct TextEvent {
  size_t index = 0;  // of the text in its request
  std::string text{};
  std::optional<GeneratedToken> token{};
  FinishReason finish = FinishReason::none;
  std::string error{};
};

/// The texts of a request while an engine generates them. One thread puts events, another takes them.
class Answer {
 public:
  /// Returns the next event; none if there is none within this time.
  std::optional<TextEvent> next(std::chrono::milliseconds wait);
  /// The engine ends the texts.
  void cancel() { is_cancelled_ = true; }

  void put(TextEvent event);
  bool is_cancelled() const { return is_cancelled_; }

 private:
  std::mutex mutex_;
  std::condition_variable has_event_;
  std::deque<TextEvent> events_;
  std::atomic<bool> is_cancelled_ = false;
};

/// A text to generate.
struct TextRequest {
  std::vector<int64_t> prompt;
  GenerateOptions options;
};

/// Generates texts in a thread of its own, several together.
class TextEngine {
 public:
  /// `texts` are computed together, and at most `queue` more wait.
  TextEngine(const TokenGenerator& generator, Tokenizer tokenizer, int64_t texts, int64_t queue);
  ~TextEngine();

  /// Adds texts. ApiError 429 if so many cannot wait.
  std::shared_ptr<Answer> submit(std::vector<TextRequest> texts);
  /// The number of texts that have not ended.
  int64_t unfinished() const { return unfinished_; }

 private:
  struct Waiting {
    std::shared_ptr<Answer> answer;
    size_t index;
    TextRequest request;
  };
  struct Running {
    std::shared_ptr<Answer> answer;
    size_t index;
    generation::TextOfTokens text;
  };

  void run();
  bool accept_texts();
  void add(Waiting text);
  void remove_cancelled();
  void advance();
  void report(const BatchProgress& step);
  void fail_all(const std::string& error);

  TokenGenerator model_;
  Tokenizer tokenizer_;
  int64_t texts_, max_texts_;
  BatchGenerator generator_;  // of the engine's thread, as `running_`
  std::map<int64_t, Running> running_{};
  std::mutex mutex_{};  // of the members up to `is_ending_`
  std::condition_variable has_work_{};
  std::vector<Waiting> waiting_{};
  bool is_ending_ = false;
  std::atomic<int64_t> unfinished_ = 0;
  std::thread thread_{};
};

}  // namespace fulgurite::cli
