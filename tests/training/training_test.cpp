#include <csignal>
#include <sstream>

#include <fulgurite/error.h>
#include <fulgurite/fulgurite.h>

#include "io/test_folder.h"
#include "support/test.h"
#include "training/event_records.h"

using namespace fulgurite;

namespace {

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
}

/// The data of an event file's records, whose checksums are checked.
std::vector<std::string> records_of(const std::string& path) {
  const std::string bytes = content_of(path);
  std::vector<std::string> out;
  for (size_t at = 0; at < bytes.size();) {
    uint64_t length = 0;
    for (size_t i = 8; i-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[at + i]);
    out.push_back(bytes.substr(at + 12, length));
    expect_equal(bytes.substr(at, 16 + length), training::record_of(out.back()));
    at += 16 + length;
  }
  return out;
}

}  // namespace

TEST("the checksum is CRC-32C, and a record has TFRecord's bytes") {
  expect_equal(training::crc32c("123456789"), 0xE3069283u);
  expect_equal(training::crc32c(std::string(32, '\0')), 0x8A9136AAu);
  expect_equal(training::record_of("a").size(), size_t{17});
}

TEST("an event file has a version and the numbers in order") {
  const TestFolder folder;
  training::EventWriter writer(folder.path + "/runs/first");
  expect_equal(records_of(writer.path()).size(), size_t{1});
  writer.add_scalar("loss", 0.5, 300);
  const auto records = records_of(writer.path());
  expect_equal(records.size(), size_t{2});
  expect(records[0].find("brain.Event:2") != std::string::npos, "the version");
  // step 300, then a summary of a value with the tag and 0.5f.
  const std::string expected("\x10\xac\x02\x2a\x0d\x0a\x0b\x0a\x04loss\x15\0\0\0\x3f", 18);
  expect_equal(records[1].substr(9), expected);
  writer.add_histogram("weights", tensor({1.0f, 2.0f, 2.0f, 3.0f}), 1, 2);
  writer.add_text("note", "two *words*", 1);
  writer.add_scalars("losses", {{"train", 1}, {"test", 2}}, 2);
  expect_equal(records_of(writer.path()).size(), size_t{6});
  training::EventWriter other(folder.path + "/runs/first");
  expect(other.path() != writer.path(), "writers of one folder have files of their own");
  expect_error(
      [&] {
        writer.add_histogram("h", tensor({1.0f, INFINITY}), 1);
      },
      "EventWriter: an element of the histogram h is not finite");
  expect_error([&] { writer.add_histogram("h", zeros({0}), 1); }, "EventWriter: the histogram h has no elements");
  write_bytes(folder.file("file"), "");
  expect_error([&] { training::EventWriter(folder.file("file") + "/runs"); }, "cannot make the folder ");
}

TEST("metrics are lines of CSV or JSON, and a file is continued") {
  const TestFolder folder;
  {
    training::MetricsFile csv(folder.file("m.csv"), {"step", "train, loss"});
    csv.add({1, 0.1});
  }
  training::MetricsFile again(folder.file("m.csv"), {"step", "train, loss"});
  again.add({2, NAN});
  expect_equal(content_of(folder.file("m.csv")), std::string("step,\"train, loss\"\n1,0.1\n2,nan\n"));
  training::MetricsFile json(folder.file("m.jsonl"), {"step", "loss"});
  json.add({1, 1.0 / 3});
  json.add({2, INFINITY});
  expect_equal(content_of(folder.file("m.jsonl")),
               std::string("{\"step\": 1, \"loss\": 0.3333333333333333}\n{\"step\": 2, \"loss\": null}\n"));
  expect_error([&] { json.add({1}); }, "training::MetricsFile: 1 numbers for 2 columns");
  expect_error(
      [&] {
        training::MetricsFile(folder.file("m.csv"), {"step", "loss"});
      },
      "has the columns step,\"train, loss\", not step,loss");
  expect_error([&] { training::MetricsFile(folder.path + "/none/m.csv", {"a"}); }, "cannot write ");
}

TEST("a progress line shows the steps, and is rewritten in a terminal") {
  std::ostringstream plain, terminal;
  {
    training::ProgressLine line(2, "epoch 1", plain, false);
    line.step("loss 2");
    line.step("loss 1");
  }
  const std::string text = plain.str();
  expect(text.find("epoch 1 2/2  0:00, ") == 0, text);
  expect(text.find("/s  loss 1\n") != std::string::npos, text);
  expect(text.find("loss 2") == std::string::npos, "the first step is not due yet");
  {
    training::ProgressLine line(1, "", terminal, true);
    line.step();
  }
  expect(terminal.str().find("\r\033[K1/1  0:00") == 0, terminal.str());
  expect_equal(terminal.str().back(), '\n');
}

TEST("early stop counts updates without a better measure") {
  training::EarlyStop stop(2);
  expect(std::isnan(stop.best()), "no best before the first update");
  expect(stop.update(1.0) && !stop.update(1.0) && !stop.stops() && stop.update(0.5));
  expect(!stop.update(NAN) && !stop.update(0.6) && stop.stops());
  training::EarlyStop continued(2);
  continued.load_state_dict(stop.state_dict());
  expect(continued.stops() && continued.best() == 0.5);
  training::EarlyStop accuracy(1, 0.1, true);
  expect(accuracy.update(0.5) && !accuracy.update(0.55) && accuracy.stops() && accuracy.update(0.7));
  expect_error([] { training::EarlyStop(0); }, "training::EarlyStop: patience must be at least 1, not 0");
  expect_error([&] { stop.load_state_dict({}); }, "training::EarlyStop: a state holds best and since_best");
}

TEST("a signal asks the loop to stop, and ends the process again afterwards") {
  {
    const training::StopSignal stop;
    expect(!stop.requested());
    expect_error([] { training::StopSignal(); }, "training::StopSignal: there is one already");
    std::raise(SIGTERM);
    expect(stop.requested());
  }
  const training::StopSignal again;
  expect(!again.requested(), "the request is gone");
  struct sigaction now {};
  ::sigaction(SIGINT, nullptr, &now);
  expect(now.sa_handler != SIG_DFL, "signals are caught");
}
