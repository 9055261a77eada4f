#pragma once
#include <fulgurite/detail/requirements.h>

// The text of a conversation, as a model's chat template writes it.
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fulgurite/detail/given.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

/// A message of a conversation.
struct ChatMessage {
  std::string role, content;  // "system", "user", "assistant", …
};

/// Options of a chat template.
struct ChatOptions {
  detail::NamedMembers named_members = detail::NamedMembers();
  bool add_generation_prompt = false;          // ends with the beginning of the assistant's answer
  std::string variables{};                     // a JSON object of more values: "tools", "enable_thinking", …
  std::map<std::string, std::string> texts{};  // more texts: "bos_token", …
};

/// A chat template: the language of Jinja, as transformers runs it, with bounds for steps and for the text's length.
/// include, import, extends and block are not supported. Copies share the template.
class ChatTemplate {
 public:
  /// UserError naming the line if the template is malformed.
  static ChatTemplate parse(std::string_view source);

  /// Returns the text of a conversation. UserError naming the line for what the template refuses or cannot do.
  std::string render(const std::vector<ChatMessage>& messages, const ChatOptions& options = {}) const;
  /// Returns the text of messages given as JSON: a list of objects with any members, such as "tool_calls".
  std::string render_json(std::string_view messages, const ChatOptions& options = {}) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
