#include <filesystem>
#include <fstream>

#include <fulgurite/fulgurite.h>

#include "io/json.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

using Kind = json::Node::Kind;

Tensor chain(Tensor x, Tensor y) {
  const Tensor shifted = x * y + 1.5;
  return tanh(shifted);
}

std::string data_text(const std::string& page) {
  const std::string begin = "<script id=\"data\" type=\"application/json\">", end = "</script>";
  const size_t from = page.find(begin) + begin.size();
  return page.substr(from, page.find(end, from) - from);
}
json::Node data_of(const std::string& page) { return json::parse(data_text(page)); }

const json::Node& group(const json::Node& data, const std::string& name) {
  for (const json::Node& group : data.at("groups", Kind::array).items)
    if (group.at("name", Kind::string).string == name) return group;
  throw std::runtime_error("no group " + name);
}

// The statements of a stage, without its arguments.
std::vector<std::string> statements(const json::Node& data, const json::Node& stage) {
  std::vector<std::string> out;
  for (const json::Node& place : stage.at("lines", Kind::array).items) {
    const json::Node& line = data.at("lines", Kind::array).items[static_cast<size_t>(place.integer)];
    if (line.items[0].integer != 0) out.push_back(line.items[1].string);
  }
  return out;
}

}  // namespace

TEST("the page has a colour for each of the library's executors") {
  const auto f = jit(chain);
  f(ones({2}), ones({2}));
  const std::string page = examine::html(f);
  for (const std::string& name : default_executors()) {
    expect(page.find("--" + name + ": #") != std::string::npos, name);
    expect(page.find("'" + name + "'") != std::string::npos, name);
  }
}

TEST("the page has every stage of forward and backward, op by op") {
  const auto f = jit(chain, {.executors = {"fuser"}});
  const Tensor x = randn({4, 6}).requires_grad_();
  sum(f(x, randn({4, 6}))).backward();
  const json::Node data = data_of(examine::html(f));
  const std::vector<Trace> forward = last_traces(f), backward = last_backward_traces(f);
  const auto& stages = group(data, "forward").at("stages", Kind::array).items;
  expect_equal(stages.size(), forward.size());
  expect_equal(group(data, "backward").at("stages", Kind::array).items.size(), backward.size());
  expect_equal(stages[0].at("title", Kind::string).string, std::string("As recorded"));
  expect_equal(statements(data, stages[0]),
               std::vector<std::string>{"auto t0 = mul(t_0, t_1);", "auto t1 = add(t0, 1.5);", "auto t2 = tanh(t1);",
                                        "return t2;"});
  for (size_t i = 0; i < stages.size(); ++i)
    expect_equal(statements(data, stages[i]).size(), forward[i].bound_symbols.size());
  // An op that is the same in many stages occurs in the table once.
  const auto& first = stages[0].at("lines", Kind::array).items;
  const auto& second = stages[1].at("lines", Kind::array).items;
  expect_equal(first.back().integer, second.back().integer);
}

TEST("backward ops name their forward ops, fusions their parts and kernels") {
  const auto f = jit(chain, {.executors = {"fuser"}});
  const Tensor x = randn({4, 6}).requires_grad_();
  sum(f(x, randn({4, 6}))).backward();
  const json::Node data = data_of(examine::html(f));
  const auto& lines = data.at("lines", Kind::array).items;
  bool has_link = false, has_parts = false;
  for (const json::Node& line : lines) {
    for (const json::Node& origin : line.items[7].items) has_link = has_link || origin.items[0].string == "t2";
    has_parts =
        has_parts || (line.items[1].string.find("fusion0(") != std::string::npos && line.items[6].items.size() == 3);
  }
  expect(has_link, "a link to t2 = tanh(t1)");
  expect(has_parts, "fusion0 with three lines");
  const json::Node& kernel = data.at("kernels", Kind::object).at("fusion0", Kind::object);
  expect_equal(kernel.at("source", Kind::string).string, examine::kernel_source(f, "fusion0"));
  expect_equal(kernel.at("inputs", Kind::array).items.size(), 2);
}

TEST("names that look like markup are text") {
  const std::string bad = "</script><b>&\"'";
  const auto f = jit(chain, {.executors = {"fuser"}, .argument_names = {bad, "<!--"}});
  f(randn({4, 6}), randn({4, 6}));
  const std::string page = examine::html(f, {.title = bad});
  expect_equal(page.find("</script><b>"), std::string::npos);
  expect_equal(page.find("<!--"), std::string::npos);
  expect_equal(data_text(page).find_first_of("<>&"), std::string::npos);
  const json::Node data = data_of(page);
  expect_equal(data.at("title", Kind::string).string, bad);
  expect(data.at("kernels", Kind::object).at("fusion0", Kind::object).at("source", Kind::string).string.find('<') !=
         std::string::npos);
}

TEST("the page loads nothing: it forbids it, and names no address") {
  const auto f = jit(chain);
  f(randn({4, 6}), randn({4, 6}));
  std::string page = examine::html(f);
  expect(page.find(
             "content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\"") !=
         std::string::npos);
  const std::string data = data_text(page);  // the user's own text, never markup
  page.replace(page.find(data), data.size(), "");
  const std::string space = "http://www.w3.org/2000/svg";  // a name, not loaded
  page.replace(page.find(space), space.size(), "");
  expect_equal(page.find("http:"), std::string::npos);
  expect_equal(page.find("https:"), std::string::npos);
}

TEST("with a profile the stages as run have their costs, and memory is always there") {
  const auto f = jit(chain, {.executors = {"fuser"}});
  const Tensor x = randn({4, 6}), y = randn({4, 6});
  const examine::Report report = examine::profile(f, x, y);
  const json::Node data = data_of(examine::html(f, {.profile = &report}));
  const json::Node& forward = group(data, "forward");
  expect_equal(forward.at("cost", Kind::array).items.size(), report.parts[0].lines.size());
  expect_near(forward.at("cost", Kind::array).items[0].items[0].floating, report.parts[0].lines[0].microseconds, 1e-9);
  expect_equal(forward.at("alive", Kind::array).items.size(), report.parts[0].lines.size());
  const json::Node without = data_of(examine::html(f));
  expect(group(without, "forward").find("cost") == nullptr && without.find("profile")->is(Kind::null));
  expect_equal(group(without, "forward").at("alive", Kind::array).items.size(), report.parts[0].lines.size());
}

TEST(
    "subgraphs of a function with graph breaks have groups of their own; with symbols the stage for these sizes is the "
    "last") {
  const auto f = jit([](Tensor x) {
    const Tensor y = tanh(x);
    graph_break();
    return y + 1.0;
  });
  f(randn({3}));
  f(randn({3}));
  const json::Node data = data_of(examine::html(f));
  expect(group(data, "forward, subgraph 1").find("stages") != nullptr &&
         group(data, "forward, subgraph 2").find("stages") != nullptr);

  const auto g = jit(chain, {.cache = Cache::symbolic_values});
  g(randn({3, 4}), randn({3, 4}));
  const json::Node symbolic = data_of(examine::html(g));
  const json::Node& last = group(symbolic, "forward").at("stages", Kind::array).items.back();
  expect_equal(last.at("title", Kind::string).string, std::string("As run for these sizes"));
}

TEST("write_html writes the page, and says where it cannot") {
  const auto f = jit(chain);
  expect_error([&] { examine::html(f); }, "write_html: the function has not been called yet");
  f(randn({4, 6}), randn({4, 6}));
  const std::filesystem::path path = std::filesystem::temp_directory_path() / "fulgurite_explorer_test.html";
  examine::write_html(f, path.string());
  std::ifstream file(path);
  const std::string written((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  expect_equal(written, examine::html(f));
  std::filesystem::remove(path);
  expect_error([&] { examine::write_html(f, "/nowhere/page.html"); },
               "write_html: cannot write /nowhere/page.html: No such file or directory");
  // A page is written whole: a folder is refused before anything is written.
  const auto folder = std::filesystem::temp_directory_path();
  expect_error([&] { examine::write_html(f, folder.string()); },
               "write_html: cannot write " + folder.string() + ": it is a folder, not a regular file");
}
