#include <cmath>

#include <fulgurite/csv.h>
#include <fulgurite/error.h>
#include <fulgurite/fulgurite.h>

#include "io/test_folder.h"
#include "support/test.h"

using namespace fulgurite;

TEST("columns of numbers and of classes are read") {
  const auto table = data::parse_csv("length,width, species\n1.5,+2,cat\n\n-3e2, 4 ,dog\r\n,0.25,cat\n");
  expect_equal(table.rows(), 3);
  expect_equal(table.names(), std::vector<std::string>{"length", "width", "species"});
  const Tensor x = table.tensor({"width", "length"}, Dtype::f64);
  expect_equal(x.shape(), Shape({3, 2}));
  const auto numbers = x.to_vector<double>();
  expect_equal(std::vector<double>(numbers.begin(), numbers.begin() + 5), std::vector<double>{2, 1.5, 4, -300, 0.25});
  expect(std::isnan(numbers[5]), "an empty cell is NaN");
  const auto [y, names] = table.classes("species");
  expect_equal(y.to_vector<int64_t>(), std::vector<int64_t>{0, 1, 0});
  expect_equal(names, std::vector<std::string>{"cat", "dog"});
  expect_equal(table.text("length"), std::vector<std::string>{"1.5", "-3e2", ""});
}

TEST("quotes, other delimiters, byte order marks and files without a header are read") {
  const auto quoted = data::parse_csv("\xEF\xBB\xBFname,text\n\"a,b\",\"say \"\"hi\"\"\"\n\"two\nlines\",x");
  expect_equal(quoted.names()[0], std::string("name"));
  expect_equal(quoted.text("name"), std::vector<std::string>{"a,b", "two\nlines"});
  expect_equal(quoted.text("text"), std::vector<std::string>{"say \"hi\"", "x"});
  const auto plain = data::parse_csv("1;2\n3;NA\n", {.delimiter = ';', .has_header = false, .missing = "NA"});
  expect_equal(plain.names(), std::vector<std::string>{"0", "1"});
  const auto numbers = plain.tensor().to_vector<float>();
  expect_equal(numbers[2], 3.0f);
  expect(std::isnan(numbers[3]), "NA is missing");
  const TestFolder folder;
  write_bytes(folder.file("x.csv"), "a\n1\n2\n");
  expect_equal(data::read_csv(folder.file("x.csv")).tensor(Dtype::i32).to_vector<int32_t>(),
               std::vector<int32_t>{1, 2});
  expect_equal(data::parse_csv("a,b\n").tensor().shape(), Shape({0, 2}));
}

TEST("broken tables are refused with the line") {
  expect_error([] { data::parse_csv(""); }, "the text has no lines");
  expect_error([] { data::parse_csv("a,b\n1,2\n\n3\n"); }, "the text, line 4: 1 cells, the first line has 2");
  expect_error([] { data::parse_csv("a\n\"1\n2"); }, "the text, line 2: a quote is not closed");
  expect_error([] { data::parse_csv("a\n\"1\"2\n"); }, "the text, line 2: something follows a closing quote");
  expect_error([] { data::parse_csv("a,a\n1,2\n"); },
               "the text: two columns are named \"a\"; for a file without a header give has_header = false");
  expect_error([] { data::parse_csv("a\n1\nx\n").tensor(); }, "the text, row 2, column a: \"x\" is not a number");
  expect_error([] { data::parse_csv("a\n1.5\n").tensor(Dtype::i64); },
               "the text, row 1, column a: a number that is not whole cannot be i64");
  expect_error([] { data::parse_csv("a,b\n,1\n").tensor(Dtype::i64); },
               "the text, row 1, column a: a missing number cannot be i64");
  expect_error([] { data::parse_csv("a,b\n1,2\n").text("c"); }, "the text has no column \"c\"; its columns are a, b");
  expect_error([] { data::read_csv("/nowhere/x.csv"); }, "/nowhere/x.csv");
}
