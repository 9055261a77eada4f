#include "cli/flags.h"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "support/text/similar_names.h"
#include "support/text/wrap.h"

namespace fulgurite::cli {

namespace {

constexpr size_t help_width = 100, help_column = 27;

std::string shown(int64_t value) { return std::to_string(value); }
std::string shown(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

template <class T>
T parse_number(const std::string& name, const std::string& text, T low, T high, const char* kind) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool too_large = error == std::errc::result_out_of_range;
  bool good = (error == std::errc() || too_large) && end == text.data() + text.size();
  if constexpr (std::is_floating_point_v<T>) good = good && std::isfinite(value);
  if (!good) throw WrongUse("--" + name + " takes " + kind + ", not '" + text + "'");
  if (too_large || value < low || value > high)
    throw WrongUse("--" + name + " " + text + " is out of range: " + shown(low) + " to " + shown(high));
  return value;
}

}  // namespace

void Flags::text(std::string name, std::string argument, std::string& value, std::string help) {
  add({name, std::move(argument), std::move(help), [&value](const std::string& given) { value = given; }});
}

void Flags::integer(std::string name, int64_t& value, int64_t low, int64_t high, std::string help) {
  help += " (" + std::to_string(value) + ")";
  add({name, "N", std::move(help), [&value, name, low, high](const std::string& given) {
         value = parse_number(name, given, low, high, "a whole number");
       }});
}

void Flags::number(std::string name, double& value, double low, double high, std::string help) {
  add({name, "X", help + " (" + shown(value) + ")", [&value, name, low, high](const std::string& given) {
         value = parse_number(name, given, low, high, "a number");
       }});
}

void Flags::choice(std::string name, std::string& value, std::vector<std::string> choices, std::string help) {
  std::string listed;
  for (const std::string& choice : choices) listed += (listed.empty() ? "" : "|") + choice;
  add({name, listed, std::move(help), [&value, name, choices, listed](const std::string& given) {
         for (const std::string& choice : choices)
           if (choice == given) {
             value = given;
             return;
           }
         throw WrongUse("--" + name + " is one of " + listed + ", not '" + given + "'");
       }});
}

void Flags::toggle(std::string name, bool& value, std::string help) {
  add({name, "", std::move(help), [&value](const std::string&) { value = true; }, false});
}

void Flags::positional(std::string name, std::string& value, std::string help) {
  add({name, "", std::move(help), [&value](const std::string& given) { value = given; }, true, true});
}

void Flags::positionals(std::string name, std::vector<std::string>& values, std::string help) {
  add({name, "", std::move(help), [&values](const std::string& given) { values.push_back(given); }, true, true, false,
       true});
}

Flags::Flag& Flags::find(const std::string& argument, const std::string& name, bool is_flag) {
  std::vector<KnownName> known;
  for (Flag& flag : flags_) {
    if (is_flag ? (!flag.is_positional && flag.name == name) : (flag.is_positional && (!flag.given || flag.is_list)))
      return flag;
    if (!flag.is_positional) known.push_back({flag.name, flag.name});
  }
  if (!is_flag) throw WrongUse("unexpected argument " + argument + "; see --help");
  std::string similar;
  for (const std::string_view other : similar_names(name, known))
    similar += (similar.empty() ? "--" : " or --") + std::string(other);
  throw WrongUse("there is no flag --" + name + (similar.empty() ? "; see --help" : "; did you mean " + similar + "?"));
}

bool Flags::parse(const std::vector<std::string>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--help" || argument == "-h") {
      std::fputs(help().c_str(), stdout);
      return false;
    }
    const bool is_flag = argument.size() > 2 && argument.starts_with("--");
    const size_t equals = argument.find('=');
    const std::string name = is_flag ? argument.substr(2, equals == std::string::npos ? equals : equals - 2) : "";
    Flag* const found = &find(argument, name, is_flag);
    if (found->given && !found->is_list) throw WrongUse("--" + name + " is given twice");
    found->given = true;
    if (!is_flag) {
      found->set(argument);
    } else if (!found->takes_value) {
      if (equals != std::string::npos) throw WrongUse("--" + name + " takes no value");
      found->set("");
    } else if (equals != std::string::npos) {
      found->set(argument.substr(equals + 1));
    } else {
      if (i + 1 == arguments.size() || arguments[i + 1].starts_with("--"))
        throw WrongUse("--" + name + " needs a value");
      found->set(arguments[++i]);
    }
  }
  return true;
}

bool Flags::was_given(std::string_view name) const {
  for (const Flag& flag : flags_)
    if (flag.name == name) return flag.given;
  return false;
}

std::vector<std::string> Flags::given() const {
  std::vector<std::string> names;
  for (const Flag& flag : flags_)
    if (flag.given) names.push_back(flag.name);
  return names;
}

std::string Flags::help() const {
  std::string out = text::wrap("usage: " + usage_, help_width, 7) + "\n";
  for (const Flag& flag : flags_) {
    std::string left =
        (flag.is_positional ? "  " : "  --") + flag.name + (flag.argument.empty() ? "" : " " + flag.argument);
    if (left.size() + 1 > help_column) {
      out += left + "\n";
      left.clear();
    }
    left.resize(help_column - 1, ' ');
    out += text::wrap(left + " " + flag.help, help_width, help_column) + "\n";
  }
  if (!examples_.empty()) out += "examples:\n";
  for (const std::string& example : examples_) out += "  " + example + "\n";
  return out;
}

}  // namespace fulgurite::cli
