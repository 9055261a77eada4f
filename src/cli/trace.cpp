#include <cstdio>
#include <functional>

#include <fulgurite/error.h>

#include "cli/associated_trace.h"
#include "cli/commands.h"
#include "cli/example_models.h"
#include "cli/flags.h"
#include "cli/python_check.h"

namespace fulgurite::cli {

namespace {

struct Stages {
  std::vector<Trace> forward, backward, prologue;
};

}  // namespace

int trace(const std::vector<std::string>& arguments) {
  Subject subject;
  std::string stage, line;
  bool backward = false, python = false, cpp = false, associate = false;
  Flags flags(
      "fulgurite trace MODEL [--library FILE] [--stage NAME] [--backward] [--python | --cpp] [--associate] "
      "[--forward NAME]",
      {"fulgurite trace mlp --backward", "fulgurite trace mlp --stage list",
       "fulgurite trace mlp --python > mlp.py && python3 mlp.py"});
  flags.positional("MODEL", subject.name, example_models);
  flags.text("library", "FILE", subject.library, library_help);
  flags.text("stage", "NAME", stage,
             "the stage to print: a name or number that --stage list shows; the last one otherwise");
  flags.toggle("backward", backward, "the backward too");
  flags.toggle(
      "python", python,
      "the Python form; without --stage and --associate a program that runs the forward on PyTorch and checks it");
  flags.toggle("cpp", cpp, "the C++ form (unless --python)");
  flags.toggle(
      "associate", associate,
      "each line of the forward with the lines of the backward that serve it; with --stage or --backward: name "
      "each backward line's forward operator");
  flags.text("forward", "NAME", line,
             "the backward lines of one forward operator: a result, t7, or an operator, torch.matmul");
  if (!flags.parse(arguments)) return 0;
  if (subject.name.empty()) throw WrongUse("a model is missing; see --help");
  if (python && cpp) throw WrongUse("give one of --python and --cpp");
  if (!line.empty() && (backward || !stage.empty()))
    throw WrongUse("--forward goes with neither --stage nor --backward");
  associate = associate || !line.empty();
  const Jitted f = run_example(subject, {.debug = {.associate_forward = associate}});
  const Stages stages{last_traces(f), last_backward_traces(f), last_prologue_traces(f)};
  std::vector<std::pair<std::string, const Trace*>> all;
  const auto list = [&](const char* kind, const std::vector<Trace>& traces) {
    for (size_t i = 0; i < traces.size(); ++i)
      all.emplace_back(std::string(kind) + "." + std::to_string(i) + " " +
                           (traces[i].provenance.empty() ? "as recorded" : traces[i].provenance),
                       &traces[i]);
  };
  list("prologue", stages.prologue);
  list("forward", stages.forward);
  list("backward", stages.backward);
  if (stage == "list") {
    for (const auto& [name, trace] : all) std::printf("%s\n", name.c_str());
    return 0;
  }
  const PrintOptions options{.depth = 1};
  const auto print = [&](const Trace& t) {
    std::printf("%s\n", (python ? t.python(options) : t.cpp(options)).c_str());
  };
  if (!stage.empty()) {
    for (const auto& [name, trace] : all)
      if (name == stage || name.substr(0, name.find(' ')) == stage || name.substr(name.find(' ') + 1) == stage) {
        print(*trace);
        return 0;
      }
    throw WrongUse("there is no stage " + stage + "; --stage list names them");
  }
  if (associate && !backward) {
    const std::string lines = side_by_side(stages.forward.back(), stages.backward.back(), line, python);
    if (lines.empty()) throw WrongUse("the forward of " + subject.name + " has no line " + line);
    std::printf("%s", lines.c_str());
    return 0;
  }
  print(stages.forward.back());
  if (backward) print(stages.backward.back());
  if (python) std::printf("%s", python_check(stages.forward.back()).c_str());
  return 0;
}

}  // namespace fulgurite::cli
