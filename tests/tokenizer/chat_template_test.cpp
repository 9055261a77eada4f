#include <fulgurite/chat_template.h>
#include <fulgurite/error.h>

#include "hub/model_folder.h"
#include "support/test.h"
#include "tokenizer/tokenizer_text.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

const std::vector<ChatMessage> conversation = {{"system", "Be brief."}, {"user", " Hi "}, {"assistant", "Hello."}};

std::string rendered(const std::string& source, const ChatOptions& options = {}) {
  return ChatTemplate::parse(source).render(conversation, options);
}

void expect_refused(const std::string& source, const std::string& message) {
  expect_error([&] { rendered(source); }, "chat template: " + message);
}

}  // namespace

TEST("a chat template writes a conversation") {
  const std::string chatml =
      "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m.content|trim + '<|im_end|>\n' }}{% endfor %}"
      "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";
  expect_equal(rendered(chatml, {.add_generation_prompt = true}),
               std::string("<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
                           "<|im_start|>assistant\nHello.<|im_end|>\n<|im_start|>assistant\n"));
}

TEST("blocks take the line end behind them and the spaces before them") {
  expect_equal(rendered("a\n  {% if true %}\n  b\n  {% endif %}\n{# c #}\nd\n"), std::string("a\n  b\nd"));
  expect_equal(rendered("a {{- ' b ' -}} c"), std::string("a b c"));
  expect_equal(rendered("  {%+ if true %}x{% endif +%}\ny"), std::string("  x\ny"));
}

TEST("names set in a loop are gone behind it, attributes of a namespace are not") {
  expect_equal(rendered("{% set n = 0 %}{% set s = namespace(n=0) %}{% for m in messages %}{% set n = n + 1 %}"
                        "{% set s.n = s.n + 1 %}{% endfor %}{{ n }} {{ s.n }}"),
               std::string("0 3"));
}

TEST("values are written as Python writes them") {
  expect_equal(rendered("{{ [1, 2.0, 'a\\'b', true, none, {'k': (1,)}] }} {{ nothing }}|{{ 1e16 }} {{ 7 / 2 }}"),
               std::string("[1, 2.0, \"a'b\", True, None, {'k': (1,)}] |1e+16 3.5"));
  expect_equal(rendered("{{ {'é': [1, '\"']}|tojson }}"), std::string(R"({"é": [1, "\""]})"));
}

TEST("further values come as texts and as JSON, messages too") {
  const ChatOptions options{.variables = R"({"tools": [{"name": "f"}]})", .texts = {{"bos_token", "<s>"}}};
  expect_equal(rendered("{{ bos_token }}{% for tool in tools %}{{ tool.name }}{% endfor %}", options),
               std::string("<s>f"));
  expect_equal(ChatTemplate::parse("{{ messages[0].content[0].text }}")
                   .render_json(R"([{"role": "user", "content": [{"type": "text", "text": "x"}]}])"),
               std::string("x"));
  expect_error([&] { rendered("x", {.variables = "[]"}); }, "chat template: variables must be a JSON object");
}

TEST("errors of templates name the line") {
  expect_refused("\n{% if x %}", "line 2: a block is not closed by endif");
  expect_refused("\n\n{{ 'a }}", "line 3: a text is not closed");
  expect_refused("{{ 1 | nofilter }}", "line 1: the filter 'nofilter' is not supported");
  expect_refused("{% include 'x' %}", "line 1: the block 'include' is not supported");
  expect_refused("a\n{{ raise_exception('no ' ~ messages[0].role) }}", "line 2: no system");
  expect_refused("{{ nothing.x }}", "line 1: 'nothing' is undefined");
  expect_refused("{{ messages.append(1) }}", "line 1: lists cannot be changed by append(); use + and a namespace");
  expect_refused("{{ 1 + 'a' }}", "line 1: '+' of values of the types int and str");
  expect_refused("{{ 9223372036854775807 + 1 }}", "line 1: a number is too large");
}

TEST("templates without an end are stopped") {
  expect_refused("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
                 "it needs more than 2000000 steps");
  expect_refused("{% set x = 'abcdefgh' * 100000 %}{% for a in range(99999) %}{{ x }}{% endfor %}",
                 "its text is longer than 67108864 bytes");
  expect_refused("{% for a in range(99999) %}{% macro f() %}{% endmacro %}{% endfor %}",
                 "it defines more than 10000 macros");
  expect_refused("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "macros call each other more than 40 deep");
  std::string deep = "1", chain = "1";
  for (int i = 0; i < 1000; ++i) {
    deep = "(" + deep + ")";
    chain += " + 1";
  }
  expect_refused("{{ " + deep + " }}", "line 1: expressions are nested too deeply");
  expect_refused("{{ " + chain + " }}", "line 1: an expression is too long");
}

TEST("a tokenizer's folder has a chat template and its special tokens") {
  const TestFolder folder;
  write_text(folder.file("tokenizer.json"), test::tokenizer_text(words_model));
  const std::vector<ChatMessage> one = {{"user", "x"}};
  expect_error([&] { Tokenizer::load(folder.path).apply_chat_template(one); },
               "apply_chat_template: the tokenizer has no chat template (chat_template.jinja, or \"chat_template\" of "
               "tokenizer_config.json); use ChatTemplate::parse");
  write_text(folder.file("tokenizer_config.json"),
             R"({"bos_token": "<s>", "chat_template": [{"name": "tool_use", "template": "no"},
  {"name": "default", "template": "{{ bos_token }}{{ messages[0].content }}"}]})");
  expect_equal(Tokenizer::load(folder.path).apply_chat_template(one), std::string("<s>x"));
  write_text(folder.file("chat_template.jinja"), "{{ messages|length }}{{ bos_token }}");
  expect_equal(Tokenizer::load(folder.path).apply_chat_template(one), std::string("1<s>"));
}
