#include <cstdio>
#include <exception>

#include <fulgurite/version.h>

#include "cli/commands.h"
#include "cli/flags.h"

namespace {

struct Command {
  const char* name;
  const char* help;
  int (*run)(const std::vector<std::string>&);
};

constexpr Command commands[] = {
    {"train", "train a GPT on a text", fulgurite::cli::train},
    {"generate", "continue a text with a trained model", fulgurite::cli::generate},
    {"trace", "print the traces of an example model", fulgurite::cli::trace},
    {"ops", "list the operators, or describe one", fulgurite::cli::ops},
    {"conformance", "run PyTorch's operator cases", fulgurite::cli::conformance},
    {"bench", "measure a case", fulgurite::cli::bench},
};

void print_help() {
  std::printf("usage: fulgurite COMMAND [flags]; fulgurite COMMAND --help\n");
  for (const Command& command : commands) std::printf("  %-12s %s\n", command.name, command.help);
  std::printf("  %-12s %s\n  %-12s %s\n", "--version", "print the version", "--help", "print this");
}

// Errors are one line: what a user sees names the problem, not our call stack.
void print_error(const char* message) {
  std::string line = message;
  if (const size_t end = line.find('\n'); end != std::string::npos) line.resize(end);
  std::fprintf(stderr, "fulgurite: %s\n", line.c_str());
}

}  // namespace

int main(int count, char** values) {
  const std::vector<std::string> arguments(values + 1, values + count);
  const std::string name = arguments.empty() ? "" : arguments[0];
  try {
    if (name == "--version") {
      std::printf("fulgurite %s\n", FULGURITE_VERSION);
      return 0;
    }
    if (name == "--help" || name == "-h") {
      print_help();
      return 0;
    }
    for (const Command& command : commands)
      if (name == command.name) {
        const int status = command.run({arguments.begin() + 1, arguments.end()});
        if (std::fflush(stdout) != 0) {
          print_error("the output could not be written");
          return 1;
        }
        return status;
      }
    throw fulgurite::cli::WrongUse(name.empty() ? "a command is missing; see fulgurite --help"
                                                : "there is no command " + name + "; see fulgurite --help");
  } catch (const fulgurite::cli::WrongUse& error) {
    print_error(error.what());
    return 2;
  } catch (const std::exception& error) {
    print_error(error.what());
    return 1;
  }
}
