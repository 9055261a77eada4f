#include <string>
#include <vector>

#include <fulgurite/trace.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

using Texts = SharedVector<std::string>;

std::string joined(const Texts& texts) {
  std::string out;
  for (const std::string& text : texts) out += text + ".";
  return out;
}

}  // namespace

TEST("a copy shares the items until one of the two is changed") {
  Texts first{"a", "b"};
  Texts second = first;
  expect_equal(std::as_const(first).data(), std::as_const(second).data());
  second.push_back("c");
  expect_equal(joined(first), std::string("a.b."));
  expect_equal(joined(second), std::string("a.b.c."));
  first[0] = "z";
  expect_equal(joined(first), std::string("z.b."));
  expect_equal(joined(second), std::string("a.b.c."));
}

TEST("changing a shared vector in any way leaves the other as it was") {
  const Texts whole{"a", "b", "c"};
  Texts changed = whole;
  changed.pop_back();
  expect_equal(joined(changed), std::string("a.b."));
  changed = whole;
  changed.resize(1);
  expect_equal(joined(changed), std::string("a."));
  changed = whole;
  changed.resize(4);
  expect_equal(joined(changed), std::string("a.b.c.."));
  changed = whole;
  changed.erase(changed.begin() + 1);
  expect_equal(joined(changed), std::string("a.c."));
  changed = whole;
  changed.insert(std::as_const(changed).begin() + 1, "x");
  expect_equal(joined(changed), std::string("a.x.b.c."));
  changed = whole;
  const std::vector<std::string> more{"p", "q"};
  changed.insert(std::as_const(changed).begin(), more.begin(), more.end());
  expect_equal(joined(changed), std::string("p.q.a.b.c."));
  changed = whole;
  for (std::string& text : changed) text += "1";
  expect_equal(joined(changed), std::string("a1.b1.c1."));
  changed = whole;
  changed.reserve(1);
  changed.clear();
  expect_equal(joined(changed), std::string(""));
  expect_equal(joined(whole), std::string("a.b.c."));
}

TEST("an item may be added to the vector it is in, at any size") {
  Texts texts{"a"};
  for (int i = 0; i < 40; ++i) texts.push_back(texts[0]);
  expect_equal(texts.size(), size_t{41});
  expect_equal(std::as_const(texts).back(), std::string("a"));
}

TEST("an empty vector is equal to an emptied one, and becomes a std::vector") {
  Texts emptied{"a"};
  emptied.pop_back();
  expect_equal(emptied, Texts());
  expect_equal(emptied.begin(), emptied.end());
  const std::vector<std::string> plain = Texts{"a", "b"};
  expect_equal(plain.size(), size_t{2});
}
