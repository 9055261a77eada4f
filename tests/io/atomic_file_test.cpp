#include <sys/stat.h>
#include <unistd.h>

#include <fulgurite/error.h>
#include <fulgurite/io.h>
#include <fulgurite/operators.h>

#include "io/atomic_file.h"
#include "io/test_folder.h"
#include "support/test.h"

using namespace fulgurite;

namespace {

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  ::lstat(path.c_str(), &status);
  return status.st_mode;
}

// Restores the process's umask.
struct Umask {
  explicit Umask(mode_t mask) : before(::umask(mask)) {}
  ~Umask() { ::umask(before); }
  mode_t before;
};

}  // namespace

TEST("a symbolic link is kept and the file behind it is replaced") {
  const TestFolder folder;
  std::filesystem::create_directory(folder.file("runs"));
  write_file(folder.file("runs/1"), "old");
  std::filesystem::create_symlink("runs/1", folder.file("first"));
  std::filesystem::create_symlink(folder.file("first"), folder.file("latest"));
  write_file(folder.file("latest"), "new");
  expect(S_ISLNK(mode_of(folder.file("first"))) && S_ISLNK(mode_of(folder.file("latest"))));
  expect_equal(content(folder.file("runs/1")), std::string("new"));
  expect_equal(folder.count(), 3);
}

TEST("a link to a file that does not exist yet makes that file") {
  const TestFolder folder;
  std::filesystem::create_symlink("later", folder.file("latest"));
  write_file(folder.file("latest"), "new");
  expect(S_ISLNK(mode_of(folder.file("latest"))));
  expect_equal(content(folder.file("later")), std::string("new"));
}

TEST("links in a circle are an error") {
  const TestFolder folder;
  std::filesystem::create_symlink("b", folder.file("a"));
  std::filesystem::create_symlink("a", folder.file("b"));
  expect_error([&] { write_file(folder.file("a"), "x"); },
               "cannot write " + folder.file("a") + ": Too many levels of symbolic links");
  expect(S_ISLNK(mode_of(folder.file("a"))));
}

TEST("a replaced file keeps its mode, and a new one has what the umask leaves") {
  const TestFolder folder;
  write_file(folder.file("a"), "1");
  for (const mode_t mode : {0600u, 0640u, 0666u, 0755u}) {
    ::chmod(folder.file("a").c_str(), mode);
    write_file(folder.file("a"), "2");
    expect_equal(mode_of(folder.file("a")) & 07777u, mode);
  }
  const Umask narrow(0077);
  write_file(folder.file("b"), "1");
  expect_equal(mode_of(folder.file("b")) & 0777u, 0600u);
  const Umask wide(0002);
  write_file(folder.file("c"), "1");
  expect_equal(mode_of(folder.file("c")) & 0777u, 0664u);
}

TEST("a path that is not a regular file is refused and stays") {
  const TestFolder folder;
  const auto refuses = [&](const std::string& path, const std::string& kind) {
    const mode_t before = mode_of(path);
    expect_error([&] { write_file(path, "x"); }, "cannot write " + path + ": it is " + kind + ", not a regular file");
    expect_error([&] { save_safetensors(path, {{"a", ones({2})}}); }, "cannot write " + path + ": it is " + kind);
    expect_equal(mode_of(path), before);
  };
  ::mkfifo(folder.file("pipe").c_str(), 0600);
  refuses(folder.file("pipe"), "a pipe");
  refuses(folder.path, "a folder");
  refuses("/dev/null", "a device");
  std::filesystem::create_symlink("/dev/null", folder.file("link"));
  refuses(folder.file("link"), "a device");
  expect_equal(folder.count(), 2);
}

TEST("a write-protected file is not replaced") {
  if (::geteuid() == 0) return;  // may write to it
  const TestFolder folder;
  write_file(folder.file("a"), "old");
  ::chmod(folder.file("a").c_str(), 0400);
  expect_error([&] { write_file(folder.file("a"), "new"); }, "Permission denied");
  expect_equal(content(folder.file("a")), std::string("old"));
}

TEST("names as long as the file system allows can be written") {
  const TestFolder folder;
  const std::string name = folder.file(std::string(255, 'n'));
  write_file(name, "x");
  expect_equal(content(name), std::string("x"));
  expect_error([&] { write_file(folder.file(std::string(256, 'n')), "x"); }, "File name too long");
  expect_equal(folder.count(), 1);
}

TEST("a path without a file name is an error") {
  expect_error([] { write_file("", "x"); }, "does not end with the name of a file");
  const TestFolder folder;
  expect_error([&] { write_file(folder.file("a/"), "x"); }, "does not end with the name of a file");
}

TEST("several writers of one path have temporary files of their own, and the last commit stays") {
  const TestFolder folder;
  AtomicFile first(folder.file("a")), second(folder.file("a"));
  first.write("first");
  second.write("the second");
  second.commit();
  expect_equal(content(folder.file("a")), std::string("the second"));
  AtomicFile third(folder.file("a"));  // may take over the second's temporary name
  first.commit();
  expect_equal(content(folder.file("a")), std::string("first"));
  third.write("third");
  third.commit();
  expect_equal(content(folder.file("a")), std::string("third"));
  expect_equal(folder.count(), 1);
}

TEST("a temporary file that another process left is not used") {
  const TestFolder folder;
  const std::string left = folder.file("a") + "." + std::to_string(::getpid()) + ".0.part";
  write_bytes(left, "left");
  write_file(folder.file("a"), "new");
  expect_equal(content(left), std::string("left"));
  expect_equal(content(folder.file("a")), std::string("new"));
}
