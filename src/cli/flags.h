#pragma once
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace fulgurite::cli {

/// Wrong use of the command line: exit status 2.
struct WrongUse : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The flags of one command: each has a name, a variable for its value, and a line of help.
class Flags {
 public:
  /// `usage` is the command line without its flags; each example is a command line too.
  explicit Flags(std::string usage, std::vector<std::string> examples = {})
      : usage_(std::move(usage)), examples_(std::move(examples)) {}
  /// `argument` is how help calls the value: FILE, FOLDER, NAME, TEXT.
  void text(std::string name, std::string argument, std::string& value, std::string help);
  void integer(std::string name, int64_t& value, int64_t low, int64_t high, std::string help);
  void number(std::string name, double& value, double low, double high, std::string help);
  void choice(std::string name, std::string& value, std::vector<std::string> choices, std::string help);
  void toggle(std::string name, bool& value, std::string help);
  /// Arguments without "--", in order; excess arguments are wrong use.
  void positional(std::string name, std::string& value, std::string help);
  /// All further arguments without "--".
  void positionals(std::string name, std::vector<std::string>& values, std::string help);

  /// Throws WrongUse with one line. `--help` prints the help and returns false.
  bool parse(const std::vector<std::string>& arguments);
  bool was_given(std::string_view name) const;
  /// The names of all flags that were passed.
  std::vector<std::string> given() const;
  /// The help text, in lines of at most 100 columns.
  std::string help() const;

 private:
  struct Flag {
    std::string name, argument, help;
    std::function<void(const std::string&)> set;
    bool takes_value = true;
    bool is_positional = false;
    bool given = false;
    bool is_list = false;
  };
  void add(Flag flag) { flags_.push_back(std::move(flag)); }
  Flag& find(const std::string& argument, const std::string& name, bool is_flag);

  std::string usage_;
  std::vector<std::string> examples_;
  std::vector<Flag> flags_;
};

}  // namespace fulgurite::cli
