// Lines of other languages in traces and errors, and the Python form of a line.
#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

TEST("a reader gives the text of lines that are in no file") {
  const SourceLocation cell{intern_file("<cell 3>"), 2};
  expect(intern_file("<cell 3>") == cell.file, "equal names are one string");
  set_source_reader([](std::string_view file, int line) -> std::optional<std::string> {
    if (file != "<cell 3>") return {};
    return "  line " + std::to_string(line) + "\n";
  });
  const auto f = jit([&](Tensor x) { return exp(x, cell); });
  f(ones({2}));
  const std::string text = last_traces(f).back().python();
  set_source_reader({});
  expect(text.find("<cell 3>:2: line 2\n") != std::string::npos, text);
  expect(last_traces(f).back().python().find("line 2") == std::string::npos,
         "without the reader the text is not known");
}

TEST("one op and one value have a Python form") {
  const auto f = jit([](Tensor x) { return exp(x) * 2; });
  f(ones({2}));
  const Trace first = last_traces(f).front();
  const std::string line = python(first.bound_symbols[0]);
  expect(line.find("t0 = torch.exp(t_0)") != std::string::npos, line);
  expect_equal(python_value(first.args[0]), std::string("t_0"));
  expect_equal(python_value(Value(true)), std::string("True"));
}

TEST("an error can be taken apart") {
  const SourceLocation at{intern_file("/some/where/model.py"), 12};
  const auto parts = [&](const std::function<void()>& work) {
    try {
      work();
    } catch (const UserError& error) {
      return parts_of(error);
    }
    return ErrorParts();
  };
  const ErrorParts wrong = parts([&] { matmul(ones({2, 3}), ones({2, 3}), at); });
  expect_equal(wrong.file, std::string("/some/where/model.py"));
  expect_equal(wrong.line, 12);
  expect(wrong.operation.find("matmul") != std::string::npos && !wrong.is_unknown_operator, wrong.operation);
  expect(parts([&] { call("no_such", {}, {}, at); }).is_unknown_operator, "a name that no operator has");
}
