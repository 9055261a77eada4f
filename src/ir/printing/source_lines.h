#pragma once
#include <map>
#include <string>
#include <vector>

#include <fulgurite/source_location.h>

namespace fulgurite {

/// The user's lines, for comments in printed traces. Reads each file once.
class SourceLines {
 public:
  /// "mlp.cpp:5: auto hidden = gelu(matmul(x, w1));". The text is omitted if the file is missing, or newer than the
  /// program: then the line may have moved.
  std::string text(SourceLocation);
  /// Returns all lines of a file; none if it is missing, or newer than the program.
  const std::vector<std::string>& lines_of(const std::string& path);

 private:
  std::map<std::string, std::vector<std::string>> files_;
};

}  // namespace fulgurite
