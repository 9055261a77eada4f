#include "support/test.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>

#include "support/expected_text.h"

namespace fulgurite::test {

namespace {

struct Case {
  const char* sentence;
  const char* file;
  void (*body)();
};

std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}
int failures_of_running_test = 0;

std::string_view base_name(std::string_view path) {
  const size_t slash = path.find_last_of('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// A newline that opens a raw string and newlines that end a text are layout.
std::string_view without_outer_newlines(std::string_view text, bool is_literal) {
  if (is_literal && text.starts_with('\n')) text.remove_prefix(1);
  while (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

}  // namespace

Registration::Registration(const char* sentence, const char* file, void (*body)()) {
  cases().push_back({sentence, file, body});
}

void fail(const std::string& message, SourceLocation at) {
  ++failures_of_running_test;
  std::printf("%s:%d: %s\n", at.file, at.line, message.c_str());
}

void fail_relation(const std::string& left, const char* relation, const std::string& right, SourceLocation at) {
  fail("expected " + left + ' ' + relation + ' ' + right, at);
}

bool expect(bool condition, SourceLocation at) { return expect(condition, "an expectation does not hold", at); }
bool expect(bool condition, const std::string& message, SourceLocation at) {
  if (!condition) fail(message, at);
  return condition;
}

bool expect_near(double actual, double expected, double tolerance, SourceLocation at) {
  return expect_near(std::vector<double>{actual}, std::vector<double>{expected}, tolerance, at);
}

bool expect_error(const std::function<void()>& run, std::string_view message, SourceLocation at) {
  try {
    run();
  } catch (const std::exception& error) {
    if (std::string_view(error.what()).find(message) != std::string_view::npos) return true;
    fail("expected an error that says\n  " + std::string(message) + "\ngot\n  " + error.what(), at);
    return false;
  }
  fail("expected an error that says\n  " + std::string(message) + "\ngot none", at);
  return false;
}

bool expect_text(std::string_view actual, std::string_view expected, SourceLocation at) {
  const std::string_view wanted = without_outer_newlines(expected, true), got = without_outer_newlines(actual, false);
  if (wanted == got) return true;
  if (updates_expected_texts() && note_expected_text(got, expected, at)) return true;
  fail("the text differs (- expected, + got):\n" + compare_lines(wanted, got), at);
  return false;
}

bool expect_trace(const Trace& trace, std::string_view expected, SourceLocation at) {
  return expect_text(trace.cpp({.time = false, .source = false}), expected, at);
}

bool expect_python(const Trace& trace, std::string_view expected, SourceLocation at) {
  return expect_text(trace.python({.time = false, .source = false}), expected, at);
}

namespace {

// "jit_test.cpp: a sentence", by which CTest knows a case.
std::string name_of(const Case& test) { return std::string(base_name(test.file)) + ": " + test.sentence; }

bool is_chosen(const Case& test, const std::vector<std::string_view>& filters) {
  if (filters.size() == 2 && filters[0] == "--case") return filters[1] == name_of(test);
  const std::string_view sentence = test.sentence, file = base_name(test.file);
  return filters.empty() || std::any_of(filters.begin(), filters.end(), [&](std::string_view filter) {
           return sentence.find(filter) != std::string_view::npos || file.find(filter) != std::string_view::npos;
         });
}

// Returns true if it passes.
bool run(const Case& test) {
  failures_of_running_test = 0;
  try {
    test.body();
  } catch (const std::exception& error) {
    fail(std::string("an exception ended the test: ") + error.what(), {test.file, 0});
  }
  if (failures_of_running_test != 0) std::printf("FAILED %s\n\n", name_of(test).c_str());
  std::fflush(stdout);
  return failures_of_running_test == 0;
}

int run_chosen(const std::vector<std::string_view>& filters) {
  int passed = 0, failed = 0;
  for (const Case& test : cases())
    if (is_chosen(test, filters)) run(test) ? ++passed : ++failed;
  if (const int rewritten = write_expected_texts()) std::printf("%d expected texts rewritten\n", rewritten);
  std::printf("%d passed, %d failed\n", passed, failed);
  if (passed + failed == 0 && !filters.empty()) return 2;
  return failed ? 1 : 0;
}

// Writes a CTest entry for each case. The including file sets the properties that all of them have.
int write_ctest_entries(const char* program, const char* path, const std::string& prefix) {
  std::ofstream out(path);
  for (const Case& test : cases()) {
    const std::string entry = "[==[" + prefix + "/" + name_of(test) + "]==]";
    out << "add_test(" << entry << " [==[" << program << "]==] --case [==[" << name_of(test) << "]==])\n"
        << "set_tests_properties(" << entry
        << " PROPERTIES LABELS \"${case_labels}\" TIMEOUT ${case_timeout} ENVIRONMENT \"${case_environment}\")\n";
  }
  return out.good() ? 0 : 1;
}

}  // namespace

int main_of_tests(int count, char** arguments) {
  if (count == 4 && std::string_view(arguments[1]) == "--ctest")
    return write_ctest_entries(arguments[0], arguments[2], arguments[3]);
  return run_chosen({arguments + 1, arguments + count});
}

}  // namespace fulgurite::test

int main(int count, char** arguments) { return fulgurite::test::main_of_tests(count, arguments); }
