#include <fulgurite/profile.h>

#include "io/json.h"
#include "ir/printing/source_lines.h"
#include "support/text/text.h"

namespace fulgurite::examine {

namespace {

constexpr int lines_track = 1, user_track = 2;

/// Trace events in JSON, one per line.
class Events {
 public:
  explicit Events(const Report& report) : report_(report) {}

  std::string text() {
    name_track(lines_track, "lines of the programs");
    name_track(user_track, "lines of your code");
    for (const Report::Event& event : report_.events) {
      add_op(event);
      add_user_line(event);
      add_memory(event);
    }
    close_user_line();
    return text::cat("{\"displayTimeUnit\": \"ms\", \"otherData\": {\"program\": \"fulgurite\"}, \"traceEvents\": [\n",
                     out_, "\n]}\n");
  }

 private:
  const Report::Line& line_of(const Report::Event& event) const {
    return report_.parts[static_cast<size_t>(event.part)].lines[static_cast<size_t>(event.line)];
  }
  void add(const std::string& event) { out_ += text::cat(out_.empty() ? "" : ",\n", "{\"pid\": 1, ", event, "}"); }
  void name_track(int track, const char* name) {
    add(text::cat("\"tid\": ", track,
                  ", \"ph\": \"M\", \"name\": \"thread_name\", \"args\": {\"name\": ", json::quote(name), "}"));
  }
  void add_span(int track, const std::string& name, std::string_view category, double begin, double duration,
                const std::string& arguments) {
    add(text::cat("\"tid\": ", track, ", \"ph\": \"X\", \"name\": ", json::quote(name),
                  ", \"cat\": ", json::quote(category), ", \"ts\": ", json::number(begin),
                  ", \"dur\": ", json::number(duration), ", \"args\": {", arguments, "}"));
  }

  void add_op(const Report::Event& event) {
    const Report::Line& op = line_of(event);
    const Report::Part& part = report_.parts[static_cast<size_t>(event.part)];
    std::string arguments =
        text::cat("\"line\": ", json::quote(op.text), ", \"program\": ", json::quote(part.name),
                  ", \"bytes read\": ", op.bytes_read, ", \"bytes written\": ", op.bytes_written,
                  ", \"operations\": ", op.operations, ", \"share of limit\": ", json::number(op.share_of_limit));
    if (op.source.line != 0) arguments += text::cat(", \"source\": ", json::quote(sources_.text(op.source)));
    if (op.operation != op.name) arguments += text::cat(", \"operation\": ", json::quote(op.operation));
    add_span(lines_track, op.name, op.executor.empty() ? "view" : op.executor, event.begin, event.microseconds,
             arguments);
  }

  // Adjacent ops of one source line are one span.
  void add_user_line(const Report::Event& event) {
    const SourceLocation at = line_of(event).source;
    if (at == open_) {
      open_end_ = event.begin + event.microseconds;
      return;
    }
    close_user_line();
    open_ = at;
    open_begin_ = event.begin;
    open_end_ = event.begin + event.microseconds;
  }
  void close_user_line() {
    if (open_.line != 0) add_span(user_track, sources_.text(open_), "source", open_begin_, open_end_ - open_begin_, "");
    open_ = {};
  }

  void add_memory(const Report::Event& event) {
    const int64_t alive = line_of(event).alive;
    if (alive == last_alive_) return;
    last_alive_ = alive;
    add(text::cat("\"ph\": \"C\", \"name\": \"bytes alive\", \"ts\": ", json::number(event.begin + event.microseconds),
                  ", \"args\": {\"bytes\": ", alive, "}"));
  }

  const Report& report_;
  SourceLines sources_;
  std::string out_;
  SourceLocation open_;
  double open_begin_ = 0, open_end_ = 0;
  int64_t last_alive_ = -1;
};

}  // namespace

std::string Report::chrome_trace() const { return Events(*this).text(); }

}  // namespace fulgurite::examine
