#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>
#include <fulgurite/training.h>

#include "io/append_file.h"
#include "ops/core/dispatch.h"
#include "support/text/text.h"
#include "training/event_records.h"

namespace fulgurite::training {

namespace {

// Fields of tensorflow/core/util/event.proto, summary.proto and tensor.proto.
namespace event {
constexpr int wall_time = 1, step = 2, file_version = 3, summary = 5;
}
namespace summary {
constexpr int value = 1, tag = 1, simple_value = 2, histogram = 5, tensor = 8, metadata = 9;
}
namespace histogram {
constexpr int min = 1, max = 2, count = 3, sum = 4, sum_of_squares = 5, limits = 6, counts = 7;
}
namespace tensor_message {
constexpr int dtype = 1, shape = 2, strings = 8, dimension = 2, size = 1;
constexpr int64_t string_type = 7;
}  // namespace tensor_message

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

// "run/events.out.tfevents.1700000000.name.123.0": TensorBoard knows the files by the middle part.
std::string free_path(const std::string& folder) {
  char host[256] = "host";
  ::gethostname(host, sizeof host - 1);
  const auto begin = static_cast<long long>(now());
  for (int i = 0;; ++i) {
    std::string path = text::cat(folder, "/events.out.tfevents.", begin, ".", host, ".", ::getpid(), ".", i);
    if (!std::filesystem::exists(path)) return path;
  }
}

std::string packed(const std::vector<double>& values) {
  return std::string(static_cast<const char*>(static_cast<const void*>(values.data())), values.size() * sizeof(double));
}

// Counts of elements in buckets of equal width from the smallest to the largest one.
Message histogram_of(const std::vector<double>& values, int64_t buckets) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double first = *low, width = (*high - first) / static_cast<double>(buckets);
  const size_t count = width > 0 ? static_cast<size_t>(buckets) : 1;
  std::vector<double> limits(count), counts(count, 0.0);
  for (size_t i = 0; i < count; ++i) limits[i] = i + 1 == count ? *high : first + width * static_cast<double>(i + 1);
  double sum = 0, squares = 0;
  for (const double value : values) {
    const double place = width > 0 ? (value - first) / width : 0;
    counts[std::min(static_cast<size_t>(place), count - 1)] += 1;
    sum += value;
    squares += value * value;
  }
  Message out;
  out.number(histogram::min, first).number(histogram::max, *high);
  out.number(histogram::count, static_cast<double>(values.size()));
  out.number(histogram::sum, sum).number(histogram::sum_of_squares, squares);
  return out.text(histogram::limits, packed(limits)).text(histogram::counts, packed(counts));
}

Message plugin(std::string_view name) { return Message().message(1, Message().text(1, name)); }

}  // namespace

struct EventWriter::State {
  std::string path;
  AppendFile file;

  State(const std::string& folder, SourceLocation at) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw UserError(text::cat("cannot make the folder ", folder, ": ", error.message()), at);
    path = free_path(folder);
    file.open(path);
    write(Message().number(event::wall_time, now()).text(event::file_version, "brain.Event:2"));
  }
  void write(const Message& event) { file.append(record_of(event.bytes())); }
  void add(std::string_view tag, int64_t step, Message value) {
    Message tagged = Message().text(summary::tag, tag);
    const std::string bytes = tagged.bytes() + value.bytes();
    Message out;
    out.number(event::wall_time, now()).integer(event::step, step);
    write(out.message(event::summary, Message().text(summary::value, bytes)));
  }
};

EventWriter::EventWriter(const std::string& folder, SourceLocation at) : state_(std::make_unique<State>(folder, at)) {}
EventWriter::~EventWriter() = default;
EventWriter::EventWriter(EventWriter&&) noexcept = default;
EventWriter& EventWriter::operator=(EventWriter&&) noexcept = default;

const std::string& EventWriter::path() const { return state_->path; }

void EventWriter::add_scalar(std::string_view tag, double value, int64_t step) {
  act_immediately("EventWriter::add_scalar()", {});
  state_->add(tag, step, Message().single(summary::simple_value, static_cast<float>(value)));
}

void EventWriter::add_scalars(std::string_view tag, const std::map<std::string, double>& values, int64_t step) {
  for (const auto& [name, value] : values) add_scalar(text::cat(tag, "/", name), value, step);
}

void EventWriter::add_histogram(std::string_view tag, const Tensor& values, int64_t step, int64_t buckets,
                                SourceLocation at) {
  act_immediately("EventWriter::add_histogram()", at);
  if (!values.defined() || values.numel() == 0)
    throw UserError(text::cat("EventWriter: the histogram ", tag, " has no elements"), at);
  if (buckets < 1) throw UserError(text::cat("EventWriter: a histogram has at least one bucket, not ", buckets), at);
  const std::vector<double> numbers = values.detach(at).to(Dtype::f64, at).contiguous(at).to_vector<double>();
  if (!std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); }))
    throw UserError(text::cat("EventWriter: an element of the histogram ", tag, " is not finite"), at);
  state_->add(tag, step, Message().message(summary::histogram, histogram_of(numbers, buckets)));
}

void EventWriter::add_text(std::string_view tag, std::string_view text, int64_t step) {
  act_immediately("EventWriter::add_text()", {});
  const Message dimension = Message().integer(tensor_message::size, 1);
  Message tensor;
  tensor.integer(tensor_message::dtype, tensor_message::string_type);
  tensor.message(tensor_message::shape, Message().message(tensor_message::dimension, dimension));
  tensor.text(tensor_message::strings, text);
  Message value;
  value.message(summary::tensor, tensor).message(summary::metadata, plugin("text"));
  state_->add(tag, step, value);
}

}  // namespace fulgurite::training
