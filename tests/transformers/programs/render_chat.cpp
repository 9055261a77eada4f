// Renders chat templates, for compare_chat_templates.py. Reads one JSON object a line: "template", "messages" (a
// JSON text), "variables" (a JSON text) and "prompt"; writes {"text": …} or {"error": …}.
#include <iostream>

#include <fulgurite/chat_template.h>
#include <fulgurite/error.h>

#include "io/json.h"

using namespace fulgurite;

namespace {

std::string rendered(const json::Node& request) {
  using Kind = json::Node::Kind;
  const ChatOptions options{.add_generation_prompt = request.at("prompt", Kind::boolean).boolean,
                            .variables = request.at("variables", Kind::string).string};
  return ChatTemplate::parse(request.at("template", Kind::string).string)
      .render_json(request.at("messages", Kind::string).string, options);
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    try {
      const std::string text = rendered(json::parse(line));
      std::cout << "{\"text\": " << json::quote(text) << "}\n";
    } catch (const UserError& error) {
      std::cout << "{\"error\": " << json::quote(error.what()) << "}\n";
    }
  }
  return 0;
}
