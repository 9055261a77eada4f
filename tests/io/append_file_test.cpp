#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include <fulgurite/error.h>

#include "io/append_file.h"
#include "support/test.h"

using namespace fulgurite;

namespace {

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
}

}  // namespace

TEST("a part that does not fit is removed again") {
  char name[] = "/tmp/fulgurite_append_XXXXXX";
  ::close(::mkstemp(name));
  {
    AppendFile file;
    file.open(name);
    file.append("first\n");
    rlimit usual;
    ::getrlimit(RLIMIT_FSIZE, &usual);
    const rlimit small{10, usual.rlim_max};
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &small);
    expect_error([&] { file.append("second\n"); }, std::string("cannot write ") + name);
    ::setrlimit(RLIMIT_FSIZE, &usual);
    std::signal(SIGXFSZ, handler);
    expect_equal(content_of(name), std::string("first\n"));
    file.append("third\n");
    file.sync();
  }
  expect_equal(content_of(name), std::string("first\nthird\n"));
  AppendFile again;
  expect_error([&] { again.open(std::string(name) + "/none"); }, "cannot write");
  std::remove(name);
}
