#include "support/stderr_text.h"

#include <unistd.h>

#include <cstdio>

namespace fulgurite::test {

std::string stderr_text(const std::function<void()>& run) {
  std::FILE* const file = std::tmpfile();
  std::fflush(stderr);
  const int before = dup(2);
  dup2(fileno(file), 2);
  run();
  std::fflush(stderr);
  dup2(before, 2);
  close(before);
  std::string text;
  std::rewind(file);
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

}  // namespace fulgurite::test
