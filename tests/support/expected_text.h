#pragma once
#include <string>
#include <string_view>

#include <fulgurite/source_location.h>

namespace fulgurite::test {

/// Returns true if differing texts are to be written into the sources (UPDATE_EXPECT=1).
bool updates_expected_texts();
/// Notes that the raw string `expected` near `at` should be `actual`; false if it is not found in the file.
bool note_expected_text(std::string_view actual, std::string_view expected, SourceLocation at);
/// Writes the noted changes. Called once, at the end; returns the number of literals rewritten.
int write_expected_texts();

/// The lines that differ, for reading: " " common, "-" expected, "+" got.
std::string compare_lines(std::string_view expected, std::string_view actual);

}  // namespace fulgurite::test
