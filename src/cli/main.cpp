#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

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
    {"examine", "what an example model ran: fusions, their inputs, kernels and times, memory", fulgurite::cli::examine},
    {"repro", "write a program that runs a piece of an example model alone", fulgurite::cli::repro},
    {"explain", "say when and why an example model was compiled", fulgurite::cli::explain},
    {"ops", "list the operators, or describe one", fulgurite::cli::ops},
    {"conformance", "run PyTorch's operator cases", fulgurite::cli::conformance},
    {"bench", "measure a case", fulgurite::cli::bench},
};

void print_help() {
  std::printf("usage: fulgurite COMMAND [flags]; fulgurite COMMAND --help\n");
  for (const Command& command : commands) std::printf("  %-13s %s\n", command.name, command.help);
  std::printf("  %-13s %s\n  %-13s %s\n  %-13s %s\n", "--version", "print the version", "--environment",
              "list the environment variables that are read", "--help", "print this");
}

// Errors are one line: what a user sees names the problem, not our call stack.
void print_error(const char* message) {
  std::string line = message;
  if (const size_t end = line.find('\n'); end != std::string::npos) line.resize(end);
  std::fprintf(stderr, "fulgurite: %s\n", line.c_str());
}

// A descriptor that the caller closed would be given to the next file that is opened, and what is printed would go into that file.
// Printing to the placeholder fails, as it should.
void fill_closed_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(descriptor, F_GETFD) < 0 && ::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) ::_exit(1);
}

int run(const std::vector<std::string>& arguments) {
  const std::string name = arguments.empty() ? "" : arguments[0];
  if (name == "--version") {
    std::printf("fulgurite %s\n", FULGURITE_VERSION);
    return 0;
  }
  if (name == "--help" || name == "-h") {
    print_help();
    return 0;
  }
  if (name == "--environment") {
    fulgurite::cli::print_environment();
    return 0;
  }
  for (const Command& command : commands)
    if (name == command.name) return command.run({arguments.begin() + 1, arguments.end()});
  throw fulgurite::cli::WrongUse(name.empty() ? "a command is missing; see fulgurite --help"
                                              : "there is no command " + name + "; see fulgurite --help");
}

}  // namespace

int main(int count, char** values) {
  fill_closed_descriptors();
  std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit is a failing write like a full disk
  try {
    const int status = run({values + 1, values + count});
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
    print_error("the output could not be written");
    return 1;
  } catch (const fulgurite::cli::WrongUse& error) {
    print_error(error.what());
    return 2;
  } catch (const std::bad_alloc&) {
    print_error("there is not enough memory");
    return 1;
  } catch (const std::exception& error) {
    print_error(error.what());
    return 1;
  }
}
