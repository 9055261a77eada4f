#pragma once
#include <string>
#include <vector>

namespace fulgurite::cli {

// Each command accepts the arguments after its name and returns the exit status. Errors are exceptions: WrongUse (2),
// others (1).
int train(const std::vector<std::string>& arguments);
int generate(const std::vector<std::string>& arguments);
int finetune(const std::vector<std::string>& arguments);
int tokenize(const std::vector<std::string>& arguments);
int embed(const std::vector<std::string>& arguments);
int classify(const std::vector<std::string>& arguments);
int transcribe(const std::vector<std::string>& arguments);
int inspect(const std::vector<std::string>& arguments);
int convert(const std::vector<std::string>& arguments);
int serve(const std::vector<std::string>& arguments);
int trace(const std::vector<std::string>& arguments);
int examine(const std::vector<std::string>& arguments);
int repro(const std::vector<std::string>& arguments);
int explain(const std::vector<std::string>& arguments);
int ops(const std::vector<std::string>& arguments);
int conformance(const std::vector<std::string>& arguments);
int bench(const std::vector<std::string>& arguments);

/// Prints the table of environment variables; docs/environment.md is this text.
void print_environment();

}  // namespace fulgurite::cli
