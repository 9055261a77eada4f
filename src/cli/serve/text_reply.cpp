#include "cli/serve/text_reply.h"

#include <utility>

namespace fulgurite::cli {

namespace {

// The events of a request's texts; those that have not ended are cancelled at the end of its life.
class Events {
 public:
  explicit Events(std::shared_ptr<Answer> answer) : answer_(std::move(answer)) {}
  ~Events() { answer_->cancel(); }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  void wait_for_first() {
    while (!first_) first_ = answer_->next(std::chrono::seconds(1));
    if (first_->finish == FinishReason::error) throw ApiError(500, first_->error);
  }
  /// Returns none if the client is gone.
  std::optional<TextEvent> next(const Connection& connection) {
    if (first_) return std::exchange(first_, std::nullopt);
    while (true) {
      if (auto event = answer_->next(std::chrono::milliseconds(200))) return event;
      if (!connection.is_open()) return std::nullopt;
    }
  }

 private:
  std::shared_ptr<Answer> answer_;
  std::optional<TextEvent> first_{};
};

struct TextReply {
  TextReply(const GenerateRequest& asked, const TextModel& model, std::shared_ptr<Answer> answer)
      : with_logprobs(asked.with_logprobs),
        with_usage(asked.with_usage),
        choices(asked.texts.size()),
        unfinished(asked.texts.size()),
        writer(asked, model),
        events(std::move(answer)) {}

  bool with_logprobs, with_usage;
  std::vector<Choice> choices;
  size_t unfinished;
  AnswerWriter writer;
  Events events;

  void add(const TextEvent& event) {
    Choice& choice = choices[event.index];
    choice.text += event.text;
    choice.generated += event.token.has_value();
    if (event.token && with_logprobs) choice.tokens.push_back(*event.token);
    choice.finish = event.finish;
    unfinished -= event.finish != FinishReason::none;
  }

  bool write_whole(const Connection& connection) {
    while (unfinished > 0) {
      const auto event = events.next(connection);
      if (!event || event->finish == FinishReason::error || !connection.is_open()) return false;
      add(*event);
    }
    return connection.write(writer.answer(choices));
  }

  static bool send(const Connection& connection, const std::string& part) {
    return part.empty() || connection.write("data: " + part + "\n\n");
  }

  bool write_event(const Connection& connection, const TextEvent& event) {
    const size_t offset = choices[event.index].text.size();
    add(event);
    const bool is_visible = !event.text.empty() || (event.token && with_logprobs);
    if (is_visible && !send(connection, writer.part(event, offset))) return false;
    return event.finish == FinishReason::none || send(connection, writer.last_part(event));
  }

  bool write_stream(const Connection& connection) {
    for (size_t i = 0; i < choices.size(); ++i)
      if (!send(connection, writer.first_part(i))) return false;
    while (unfinished > 0) {
      const auto event = events.next(connection);
      if (!event || !connection.is_open()) return false;
      if (event->finish == FinishReason::error)
        return send(connection, error_json(ApiError(500, event->error))) && send(connection, "[DONE]");
      if (!write_event(connection, *event)) return false;
    }
    int64_t generated = 0;
    for (const Choice& choice : choices) generated += choice.generated;
    if (with_usage && !send(connection, writer.usage_part(generated))) return false;
    return send(connection, "[DONE]");
  }
};

}  // namespace

Reply text_reply(const GenerateRequest& request, const TextModel& model, std::shared_ptr<Answer> answer) {
  const auto state = std::make_shared<TextReply>(request, model, std::move(answer));
  state->events.wait_for_first();
  if (request.is_streamed)
    return {.type = "text/event-stream",
            .write = [state](const Connection& connection) { return state->write_stream(connection); }};
  return {.write = [state](const Connection& connection) { return state->write_whole(connection); }};
}

}  // namespace fulgurite::cli
