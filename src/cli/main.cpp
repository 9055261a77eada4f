#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include <fulgurite/version.h>

#include "cli/commands.h"
#include "cli/flags.h"
#include "support/text/similar_names.h"

namespace {

struct Command {
  const char* name;
  const char* help;
  int (*run)(const std::vector<std::string>&);
};

constexpr Command commands[] = {
    {"train", "train a GPT on a text", fulgurite::cli::train},
    {"generate", "continue a text with a language model", fulgurite::cli::generate},
    {"finetune", "train a language model on texts or chats", fulgurite::cli::finetune},
    {"tokenize", "print the tokens of texts", fulgurite::cli::tokenize},
    {"embed", "print the vectors of texts", fulgurite::cli::embed},
    {"classify", "print the classes of images", fulgurite::cli::classify},
    {"transcribe", "print the texts of speech", fulgurite::cli::transcribe},
    {"serve", "answer the requests of OpenAI's clients with a language model", fulgurite::cli::serve},
    {"inspect", "describe a folder of a Hugging Face model", fulgurite::cli::inspect},
    {"convert", "write a folder of a Hugging Face model from a GGUF file", fulgurite::cli::convert},
    {"trace", "print the traces of an example model", fulgurite::cli::trace},
    {"examine", "show what an example model ran: fusions, kernels, times, memory", fulgurite::cli::examine},
    {"repro", "write a program that runs a part of an example model alone", fulgurite::cli::repro},
    {"explain", "print when and why an example model was compiled", fulgurite::cli::explain},
    {"ops", "list the operators, or describe one", fulgurite::cli::ops},
    {"conformance", "run PyTorch's operator cases", fulgurite::cli::conformance},
    {"bench", "measure a case", fulgurite::cli::bench},
};

void print_help() {
  std::printf("usage: fulgurite COMMAND [flags]\n\ncommands:\n");
  for (const Command& command : commands) std::printf("  %-13s %s\n", command.name, command.help);
  std::printf("  %-13s %s\n  %-13s %s\n  %-13s %s\n", "--version", "print the version", "--environment",
              "list the environment variables that are read", "--help, help",
              "print this; help COMMAND prints the flags of a command");
  std::printf(
      "\nexamples:\n  fulgurite train --text book.txt --out out/book\n  fulgurite generate --checkpoint out/book\n"
      "  fulgurite trace mlp --backward\n"
      "\nResults go to stdout, progress and errors to stderr.\n"
      "exit status: 0 success; 1 failure; 2 wrong use; 130 or 143 if training was stopped by Ctrl-C or SIGTERM, with\n"
      "             a checkpoint saved\n");
}

const Command* find_command(const std::string& name) {
  for (const Command& command : commands)
    if (name == command.name) return &command;
  return nullptr;
}

const Command& need_command(const std::string& name) {
  if (name.empty()) throw fulgurite::cli::WrongUse("a command is missing; see fulgurite --help");
  if (const Command* command = find_command(name)) return *command;
  std::vector<fulgurite::KnownName> known{{"help", "help"}};
  for (const Command& command : commands) known.push_back({command.name, command.name});
  const std::string hint = fulgurite::suggestion(fulgurite::similar_names(name, known));
  throw fulgurite::cli::WrongUse("there is no command " + name + (hint.empty() ? "; see fulgurite --help" : hint));
}

// Errors are one line: the user's message names the problem, not our call stack.
void print_error(const char* message) {
  std::string line = message;
  if (const size_t end = line.find('\n'); end != std::string::npos) line.resize(end);
  std::fprintf(stderr, "fulgurite: %s\n", line.c_str());
}

// A descriptor that the caller closed would be reused for the next file that is opened, and printed text would go into
// that file. Printing to the placeholder fails, as it should.
void fill_closed_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(descriptor, F_GETFD) < 0 && ::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
      ::_exit(1);
}

int run(const std::vector<std::string>& arguments) {
  const std::string name = arguments.empty() ? "" : arguments[0];
  if (name == "--version") {
    std::printf("fulgurite %s\n", FULGURITE_VERSION);
    return 0;
  }
  const bool is_help = name == "--help" || name == "-h" || name == "help";
  if (is_help && arguments.size() > 1 && find_command(arguments[1])) return find_command(arguments[1])->run({"--help"});
  if (is_help && arguments.size() > 1 && arguments[1] != "help") need_command(arguments[1]);
  if (is_help) {
    print_help();
    return 0;
  }
  if (name == "--environment") {
    fulgurite::cli::print_environment();
    return 0;
  }
  const Command& command = need_command(name);
  return command.run({arguments.begin() + 1, arguments.end()});
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
