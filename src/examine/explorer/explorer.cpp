
#include <fulgurite/error.h>
#include <fulgurite/explorer.h>

#include "examine/explorer/explorer_data.h"
#include "io/atomic_file.h"
#include "support/text/text.h"

namespace fulgurite::examine {

// Files of explorer/, written into the build by cmake.
namespace explorer {
extern const std::string_view page_html, style_css, data_js, trace_js, inspector_js, pictures_js, main_js;
}

namespace {

// JSON inside of a script element: nothing in it may look like markup.
std::string without_markup(const std::string& json) {
  std::string out;
  out.reserve(json.size() + json.size() / 64);
  for (const char c : json) {
    if (c == '<') out += "\\u003c";
    else if (c == '>') out += "\\u003e";
    else if (c == '&') out += "\\u0026";
    else out += c;
  }
  return out;
}

// The page with each `{{name}}` replaced by its content, once.
std::string filled(std::string_view page, const std::vector<std::pair<std::string_view, std::string>>& parts) {
  std::string out;
  for (const auto& [name, part] : parts) {
    const std::string mark = text::cat("{{", name, "}}");
    const size_t at = page.find(mark);
    if (at == std::string_view::npos) throw InternalError(text::cat("the explorer's page has no place for ", name));
    out += page.substr(0, at);
    out += part;
    page.remove_prefix(at + mark.size());
  }
  out += page;
  return out;
}

}  // namespace

std::string html(const Jitted& f, const HtmlOptions& options) {
  const std::string scripts = text::cat(explorer::data_js, explorer::trace_js, explorer::inspector_js,
                                        explorer::pictures_js, explorer::main_js);
  const std::string data = without_markup(explorer_data(f, options));
  return filled(explorer::page_html,
                {{"style", std::string(explorer::style_css)}, {"data", data}, {"script", scripts}});
}

void write_html(const Jitted& f, const std::string& path, const HtmlOptions& options) {
  const std::string page = html(f, options);
  try {
    write_file(path, page);
  } catch (const UserError& error) {
    throw UserError(text::cat("write_html: ", error.what()));
  }
}

}  // namespace fulgurite::examine
