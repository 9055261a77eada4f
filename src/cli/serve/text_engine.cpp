#include "cli/serve/text_engine.h"

#include <utility>

#include <fulgurite/error.h>

#include "cli/serve/api_error.h"

namespace fulgurite::cli {

std::optional<TextEvent> Answer::next(std::chrono::milliseconds wait) {
  std::unique_lock lock(mutex_);
  if (!has_event_.wait_for(lock, wait, [this] { return !events_.empty(); })) return std::nullopt;
  TextEvent event = std::move(events_.front());
  events_.pop_front();
  return event;
}

void Answer::put(TextEvent event) {
  {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
  }
  has_event_.notify_one();
}

TextEngine::TextEngine(const TokenGenerator& generator, Tokenizer tokenizer, int64_t texts, int64_t queue)
    : model_(generator),
      tokenizer_(std::move(tokenizer)),
      texts_(texts),
      max_texts_(texts + queue),
      generator_(generator, texts) {
  thread_ = std::thread([this] { run(); });
}

TextEngine::~TextEngine() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  has_work_.notify_one();
  thread_.join();
}

std::shared_ptr<Answer> TextEngine::submit(std::vector<TextRequest> texts) {
  auto answer = std::make_shared<Answer>();
  const auto count = static_cast<int64_t>(texts.size());
  {
    const std::lock_guard lock(mutex_);
    if (unfinished_ + count > max_texts_)
      throw ApiError(429, "the server has as many texts as may wait; try again later", "", "rate_limit_exceeded");
    unfinished_ += count;
    for (size_t i = 0; i < texts.size(); ++i) waiting_.push_back({answer, i, std::move(texts[i])});
  }
  has_work_.notify_one();
  return answer;
}

void TextEngine::run() {
  while (accept_texts()) {
    remove_cancelled();
    try {
      advance();
    } catch (const std::exception& error) {
      fail_all(error.what());
    }
  }
}

// Returns false when the engine ends.
bool TextEngine::accept_texts() {
  std::vector<Waiting> texts;
  {
    std::unique_lock lock(mutex_);
    has_work_.wait(lock, [this] { return is_ending_ || !waiting_.empty() || !running_.empty(); });
    if (is_ending_) return false;
    texts.swap(waiting_);
  }
  for (Waiting& text : texts) add(std::move(text));
  return true;
}

void TextEngine::add(Waiting text) {
  try {
    generation::TextOfTokens stream(tokenizer_, text.request.prompt, text.request.options.stop);
    const int64_t id = generator_.add(text.request.prompt, text.request.options);
    running_.emplace(id, Running{text.answer, text.index, std::move(stream)});
  } catch (const std::exception& error) {
    --unfinished_;
    text.answer->put({.index = text.index, .finish = FinishReason::error, .error = error.what()});
  }
}

void TextEngine::remove_cancelled() {
  unfinished_ -= static_cast<int64_t>(std::erase_if(running_, [this](const auto& each) {
    if (!each.second.answer->is_cancelled()) return false;
    generator_.remove(each.first);
    return true;
  }));
}

void TextEngine::advance() {
  for (const BatchProgress& step : generator_.advance())
    if (running_.count(step.id)) report(step);
}

void TextEngine::report(const BatchProgress& step) {
  Running& running = running_.at(step.id);
  TextEvent event{.index = running.index, .token = step.token, .finish = step.finish, .error = step.error};
  if (step.token) event.text = running.text.put(step.token->id);
  if (running.text.is_stopped()) {
    if (event.finish == FinishReason::none) generator_.remove(step.id);
    event.finish = FinishReason::stop;
  }
  const bool is_end = event.finish != FinishReason::none;
  if (is_end) event.text += running.text.finish();
  running.answer->put(std::move(event));
  if (!is_end) return;
  running_.erase(step.id);
  --unfinished_;
}

// The state of the generator is unknown after an error.
void TextEngine::fail_all(const std::string& error) {
  for (auto& [id, running] : running_)
    running.answer->put({.index = running.index, .finish = FinishReason::error, .error = error});
  unfinished_ -= static_cast<int64_t>(running_.size());
  running_.clear();
  generator_ = BatchGenerator(model_, texts_);
}

}  // namespace fulgurite::cli
