#include <fulgurite/chat_template.h>
#include <fulgurite/error.h>

#include "support/text/text.h"
#include "tokenizer/chat/interpreter.h"
#include "tokenizer/chat/parser.h"

namespace fulgurite {

struct ChatTemplate::State {
  chat::Block block;
};

namespace {

chat::Value value_of(const std::vector<ChatMessage>& messages) {
  std::vector<chat::Value> out;
  for (const ChatMessage& message : messages)
    out.push_back(chat::make_mapping({{"role", message.role}, {"content", message.content}}));
  return chat::make_list(std::move(out));
}

chat::Value parse_json(std::string_view text, std::string_view what) {
  try {
    return chat::from_json(json::parse(text));
  } catch (const UserError& error) {
    throw UserError(text::cat("chat template: ", what, ": ", error.what()));
  }
}

std::string render(const chat::Block& block, const chat::Value& messages, const ChatOptions& options) {
  const auto scope = std::make_shared<chat::Scope>();
  chat::Scope& globals = *scope;
  chat::add_functions(globals);
  globals.values["messages"] = messages;
  globals.values["add_generation_prompt"] = options.add_generation_prompt;
  globals.values["tools"] = chat::Value();
  globals.values["documents"] = chat::Value();
  for (const auto& [name, text] : options.texts) globals.values[name] = text;
  if (!options.variables.empty()) {
    const chat::Value more = parse_json(options.variables, "variables");
    if (more.mapping() == nullptr) throw UserError("chat template: variables must be a JSON object");
    for (const auto& [name, value] : more.mapping()->entries) globals.values[name] = value;
  }
  const auto names = std::make_shared<chat::Scope>(chat::Scope{{}, scope});
  try {
    return chat::Interpreter().render(block, names);
  } catch (const UserError& error) {
    throw UserError(text::cat("chat template: ", error.what()));
  }
}

}  // namespace

ChatTemplate ChatTemplate::parse(std::string_view source) {
  ChatTemplate out;
  try {
    out.state_ = std::make_shared<const State>(State{chat::parse_template(source)});
  } catch (const UserError& error) {
    throw UserError(text::cat("chat template: ", error.what()));
  }
  return out;
}

std::string ChatTemplate::render(const std::vector<ChatMessage>& messages, const ChatOptions& options) const {
  return fulgurite::render(state_->block, value_of(messages), options);
}

std::string ChatTemplate::render_json(std::string_view messages, const ChatOptions& options) const {
  return fulgurite::render(state_->block, parse_json(messages, "messages"), options);
}

}  // namespace fulgurite
