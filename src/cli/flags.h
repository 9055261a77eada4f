#pragma once
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace fulgurite::cli {

/// The command line is used wrongly: exit status 2.
struct WrongUse : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The flags of one command: each has a name, a place to put its value, and a line of help.
class Flags {
 public:
  explicit Flags(std::string usage) : usage_(std::move(usage)) {}
  void text(std::string name, std::string& value, std::string help);
  void integer(std::string name, int64_t& value, int64_t low, int64_t high, std::string help);
  void number(std::string name, double& value, double low, double high, std::string help);
  void choice(std::string name, std::string& value, std::vector<std::string> choices, std::string help);
  void toggle(std::string name, bool& value, std::string help);
  /// Arguments without "--", in order; what is left over is wrong use.
  void positional(std::string name, std::string& value, std::string help);

  /// Throws WrongUse with one line. `--help` prints the help and gives false.
  bool parse(const std::vector<std::string>& arguments);
  bool was_given(std::string_view name) const;
  std::string help() const;

 private:
  struct Flag {
    std::string name, argument, help;
    std::function<void(const std::string&)> set;
    bool takes_value = true;
    bool is_positional = false;
    bool given = false;
  };
  void add(Flag flag) { flags_.push_back(std::move(flag)); }

  std::string usage_;
  std::vector<Flag> flags_;
};

}  // namespace fulgurite::cli
