#pragma once
#include <cmath>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <fulgurite/source_location.h>
#include <fulgurite/trace.h>

/// A small test harness. A file of tests is a list of
///
///   TEST("a sentence that is true") {
///     expect_equal(sum(x).item<double>(), 6.0);
///   }
///
/// A failed expectation prints what was compared and where, and the test goes on. The program's arguments choose the
/// tests whose sentence or file name contains one of them; `--case "FILE: SENTENCE"` runs one, as CTest does, and
/// `--ctest FILE NAME` writes CTest's entries. With UPDATE_EXPECT=1 in the environment, the literals of
/// expect_text and expect_trace that differ are rewritten in the source.
namespace fulgurite::test {

struct Registration {
  Registration(const char* sentence, const char* file, void (*body)());
};

#define FULGURITE_TEST_JOIN_(a, b) a##b
#define FULGURITE_TEST_JOIN(a, b) FULGURITE_TEST_JOIN_(a, b)
#define FULGURITE_TEST_AS(sentence, function)                                                                  \
  static void function();                                                                                      \
  static const ::fulgurite::test::Registration FULGURITE_TEST_JOIN(function, _)(sentence, __FILE__, function); \
  static void function()
#define TEST(sentence) FULGURITE_TEST_AS(sentence, FULGURITE_TEST_JOIN(test_, __LINE__))

/// Marks the running test as failed and prints the message with the line; expectations end here.
void fail(const std::string& message, SourceLocation at = SourceLocation::here());

template <class T>
concept Streamable = requires(std::ostream& out, const T& value) {
  out << value;
};

/// A value as failure messages show it.
template <class T>
std::string show(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_same_v<T, std::nullptr_t>) {
    return "null";
  } else if constexpr (std::is_convertible_v<T, std::string_view>) {
    return '"' + std::string(std::string_view(value)) + '"';
  } else if constexpr (Streamable<T>) {
    std::ostringstream out;
    out.precision(17);
    out << value;
    return out.str();
  } else if constexpr (requires {
                         value.begin();
                         value.end();
                       }) {
    std::string out = "{";
    for (auto item = value.begin(); item != value.end(); ++item)
      out += (item == value.begin() ? "" : ", ") + show(*item);
    return out + "}";
  } else {
    return "(a value that does not print)";
  }
}

bool expect(bool condition, SourceLocation at = SourceLocation::here());
bool expect(bool condition, const std::string& message, SourceLocation at = SourceLocation::here());

template <class Actual, class Expected>
bool expect_equal(const Actual& actual, const Expected& expected, SourceLocation at = SourceLocation::here()) {
  bool equal;
  if constexpr (std::is_integral_v<Actual> && std::is_integral_v<Expected>)
    equal = static_cast<std::common_type_t<Actual, Expected>>(actual) ==
            static_cast<std::common_type_t<Actual, Expected>>(expected);
  else equal = static_cast<bool>(actual == expected);
  if (!equal) fail("expected " + show(expected) + "\n       got " + show(actual), at);
  return equal;
}

void fail_relation(const std::string& left, const char* relation, const std::string& right, SourceLocation at);
/// The comparisons of expect_less and its kin: `relation` is their sign in the message.
template <class Left, class Right, class Compare>
bool expect_relation(const Left& left, const Right& right, const char* relation, Compare compare, SourceLocation at) {
  bool holds;
  if constexpr (std::is_integral_v<Left> && std::is_integral_v<Right>) {
    using Common = std::common_type_t<Left, Right>;
    holds = compare(static_cast<Common>(left), static_cast<Common>(right));
  } else {
    holds = compare(left, right);
  }
  if (!holds) fail_relation(show(left), relation, show(right), at);
  return holds;
}
template <class Left, class Right>
bool expect_less(const Left& left, const Right& right, SourceLocation at = SourceLocation::here()) {
  return expect_relation(
      left, right, "<", [](const auto& a, const auto& b) { return a < b; }, at);
}
template <class Left, class Right>
bool expect_at_most(const Left& left, const Right& right, SourceLocation at = SourceLocation::here()) {
  return expect_relation(
      left, right, "<=", [](const auto& a, const auto& b) { return a <= b; }, at);
}
template <class Left, class Right>
bool expect_greater(const Left& left, const Right& right, SourceLocation at = SourceLocation::here()) {
  return expect_relation(
      left, right, ">", [](const auto& a, const auto& b) { return a > b; }, at);
}
template <class Left, class Right>
bool expect_at_least(const Left& left, const Right& right, SourceLocation at = SourceLocation::here()) {
  return expect_relation(
      left, right, ">=", [](const auto& a, const auto& b) { return a >= b; }, at);
}
template <class Left, class Right>
bool expect_different(const Left& left, const Right& right, SourceLocation at = SourceLocation::here()) {
  return expect_relation(
      left, right, "!=", [](const auto& a, const auto& b) { return a != b; }, at);
}

/// |actual - expected| <= tolerance * max(1, |expected|); NaN equals NaN.
bool expect_near(double actual, double expected, double tolerance = 1e-6, SourceLocation at = SourceLocation::here());
/// The same for every element of two sequences of equal length.
template <class Actual, class Expected>
requires requires(const Actual& a, const Expected& b) {
  a.size();
  b.size();
  a[0];
  b[0];
}
bool expect_near(const Actual& actual, const Expected& expected, double tolerance = 1e-6,
                 SourceLocation at = SourceLocation::here()) {
  if (actual.size() != expected.size()) {
    fail("expected " + std::to_string(expected.size()) + " elements, got " + std::to_string(actual.size()), at);
    return false;
  }
  for (size_t i = 0; i < actual.size(); ++i) {
    const double a = static_cast<double>(actual[i]), b = static_cast<double>(expected[i]);
    if ((std::isnan(a) && std::isnan(b)) || a == b || std::fabs(a - b) <= tolerance * std::fmax(1.0, std::fabs(b)))
      continue;
    fail("element " + std::to_string(i) + ": expected " + show(b) + ", got " + show(a), at);
    return false;
  }
  return true;
}
template <class Actual>
bool expect_near(const std::vector<Actual>& actual, std::initializer_list<double> expected, double tolerance = 1e-6,
                 SourceLocation at = SourceLocation::here()) {
  return expect_near(actual, std::vector<double>(expected), tolerance, at);
}

/// `run` throws something derived from std::exception whose message contains `message`.
bool expect_error(const std::function<void()>& run, std::string_view message,
                  SourceLocation at = SourceLocation::here());

/// The complete text, written in the source as a raw string. A newline right after the opening parenthesis, and
/// newlines at either text's end, do not count.
bool expect_text(std::string_view actual, std::string_view expected, SourceLocation at = SourceLocation::here());
/// The C++ form of a trace, without times and source lines.
bool expect_trace(const Trace& trace, std::string_view expected, SourceLocation at = SourceLocation::here());
/// The Python form of a trace, without times and source lines.
bool expect_python(const Trace& trace, std::string_view expected, SourceLocation at = SourceLocation::here());

}  // namespace fulgurite::test

using fulgurite::test::expect;
using fulgurite::test::expect_at_least;
using fulgurite::test::expect_at_most;
using fulgurite::test::expect_different;
using fulgurite::test::expect_equal;
using fulgurite::test::expect_error;
using fulgurite::test::expect_greater;
using fulgurite::test::expect_less;
using fulgurite::test::expect_near;
using fulgurite::test::expect_python;
using fulgurite::test::expect_text;
using fulgurite::test::expect_trace;
