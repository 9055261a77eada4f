#include "hub/load_error.h"

#include <algorithm>
#include <map>
#include <set>

#include <fulgurite/hub/checkpoint.h>

#include "support/text/text.h"
#include "support/text/utf8.h"

namespace fulgurite::hub {

namespace {

bool is_number(std::string_view part) {
  return !part.empty() && part.size() < 10 && part.find_first_not_of("0123456789") == std::string_view::npos;
}

// A name whose first number is replaced, and that number; -1 if it has none.
std::pair<std::string, int64_t> without_number(const std::string& name) {
  for (size_t begin = 0; begin < name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    if (is_number(part)) return {name.substr(0, begin) + "{}" + name.substr(end), std::stoll(part)};
    begin = end + 1;
  }
  return {name, -1};
}

// "0..3, 5"
std::string ranges(const std::set<int64_t>& numbers) {
  std::string out;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const int64_t first = *at;
    int64_t last = first;
    while (++at != numbers.end() && *at == last + 1) ++last;
    out += text::cat(out.empty() ? "" : ", ", first);
    if (last > first) out += text::cat(last == first + 1 ? ", " : "..", last);
  }
  return out;
}

std::string shape_text(const std::vector<int64_t>& sizes) {
  std::string out = "[";
  for (size_t i = 0; i < sizes.size(); ++i) out += text::cat(i == 0 ? "" : ", ", sizes[i]);
  return out + "]";
}

std::string listed(std::string_view title, const std::vector<std::string>& lines) {
  std::string out;
  if (lines.empty()) return out;
  out += text::cat("\n  ", title);
  for (const std::string& line : lines) out += "\n    " + line;
  return out;
}

std::vector<std::string> shape_lines(const std::vector<Misshapen>& misshapen) {
  std::map<std::string, std::vector<std::string>> names;  // by the description
  std::vector<std::string> order;
  for (const Misshapen& tensor : misshapen) {
    const std::string what =
        text::cat(": ", shape_text(tensor.in_files), " in the files, ", shape_text(tensor.in_model), " in the model");
    if (names.count(what) == 0) order.push_back(what);
    names[what].push_back(tensor.name);
  }
  std::vector<std::string> lines;
  for (const std::string& what : order)
    for (const std::string& group : group_layers(names[what])) lines.push_back(group + what);
  return lines;
}

std::string message_of(const std::string& folder, const std::vector<std::string>& missing,
                       const std::vector<std::string>& unexpected, const std::vector<Misshapen>& misshapen) {
  return text::cat("the files of \"", folder, "\" do not fit the model that its config.json describes",
                   listed("missing in the files:", group_layers(missing)),
                   listed("not in the model:", group_layers(unexpected)),
                   listed("of another shape:", shape_lines(misshapen)));
}

}  // namespace

std::vector<std::string> group_layers(const std::vector<std::string>& names) {
  std::map<std::string, std::set<int64_t>> numbers;
  std::vector<std::string> order;
  for (const std::string& name : names) {
    const auto [pattern, number] = without_number(name);
    const auto [at, is_new] = numbers.try_emplace(pattern);
    if (is_new) order.push_back(pattern);
    at->second.insert(number);
  }
  std::vector<std::string> out;
  for (const std::string& pattern : order) {
    const std::set<int64_t>& found = numbers[pattern];
    std::string line = printable(pattern);
    if (const size_t at = line.find("{}"); at != std::string::npos && *found.begin() >= 0) {
      const std::string text = ranges(found);
      line.replace(at, 2, found.size() == 1 ? text : "{" + text + "}");
    }
    if (found.size() > 1) line += text::cat(" (", found.size(), " tensors)");
    out.push_back(line);
  }
  return out;
}

LoadError::LoadError(const std::string& folder, std::vector<std::string> missing_names,
                     std::vector<std::string> unexpected_names, std::vector<Misshapen> misshapen_tensors)
    : UserError(message_of(folder, missing_names, unexpected_names, misshapen_tensors)),
      missing(std::move(missing_names)),
      unexpected(std::move(unexpected_names)),
      misshapen(std::move(misshapen_tensors)) {}

}  // namespace fulgurite::hub
