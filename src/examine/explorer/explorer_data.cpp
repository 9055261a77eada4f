#include "examine/explorer/explorer_data.h"

#include <fulgurite/error.h>
#include <fulgurite/version.h>

#include "examine/explorer/explorer_lines.h"
#include "examine/fusions/find_fusion.h"
#include "io/json.h"
#include "ir/printing/print_common.h"
#include "jit/jit_state.h"
#include "support/text/text.h"
#include "transforms/grad/associate_forward.h"

namespace fulgurite::examine {

namespace {

using detail::CacheEntry;

template <class Range, class ToJson>
std::string array(const Range& items, ToJson to_json) {
  return text::cat("[", text::join(items, to_json), "]");
}

std::string numbers(const Shape& shape) {
  return array(shape, [](Int size) { return text::cat(size.hint()); });
}

std::string tensors_json(const std::vector<FusionInput>& tensors) {
  return array(tensors, [](const FusionInput& t) {
    const std::string type = text::cat(t.device.name(), " ", name(t.dtype), t.shape.text());
    return text::cat("[", json::quote(t.name), ", ", json::quote(type), ", ", numbers(t.strides), ", ", t.offset, ", ",
                     json::quote(t.shares_with), "]");
  });
}

/// Builds the page's data. Each cache entry that the last call ran has up to three groups of stages: prologue, forward,
/// backward.
class Data {
 public:
  Data(const Jitted& f, const HtmlOptions& options) : f_(f), options_(options) {}

  std::string text() {
    const auto last = f_.state()->store().last();
    if (!last) throw UserError("write_html: the function has not been called yet");
    if (!last->has_graph_breaks) {
      add(*last, "");
    } else {
      int number = 0;
      for (const auto& subgraph : f_.state()->last_subgraphs()) add(*subgraph, text::cat(", subgraph ", ++number));
    }
    std::string title = options_.title;
    if (title.empty()) title = title_;
    const std::string files = lines_.files();
    return text::cat("{\"title\": ", json::quote(title), ", \"library\": \"fulgurite ", FULGURITE_VERSION,
                     "\",\n\"files\": ", files, ",\n\"sources\": ", lines_.sources(), ",\n\"lines\": ", lines_.lines(),
                     ",\n\"groups\": [", groups_, "],\n\"kernels\": {", kernels_,
                     "},\n\"profile\": ", options_.profile ? profile() : std::string("null"), "}");
  }

 private:
  void add(const CacheEntry& entry, const std::string& suffix) {
    const auto kept = f_.state()->store().stages(entry);
    detail::Stages stages = kept ? *kept : detail::Stages();
    add_as_run(entry.forward, entry, stages.forward);
    add_as_run(entry.backward, entry, stages.backward);
    if (!stages.forward.empty()) {
      const Trace run = stages.forward.back();
      if (title_.empty()) title_ = run.name;
      name_forward_ops(stages.forward, run);
      name_forward_ops(stages.backward, run);
    }
    add_group("prologue" + suffix, stages.prologue, nullptr);
    add_group("forward" + suffix, stages.forward, entry.forward.get());
    add_group("backward" + suffix, stages.backward, entry.backward.get());
  }

  // With symbols for sizes the program is of a trace of its own.
  static void add_as_run(const std::shared_ptr<Program>& program, const CacheEntry& entry, std::vector<Trace>& stages) {
    if (!entry.symbolic || !program || !program->is_made()) return;
    stages.push_back(program->trace());
    stages.back().provenance = "As run for these sizes";
  }

  void add_group(const std::string& name, const std::vector<Trace>& stages, const Program* program) {
    if (stages.empty()) return;
    std::string list;
    for (size_t i = 0; i < stages.size(); ++i) {
      const Trace& stage = stages[i];
      const std::string title = stage.provenance.empty() ? "As recorded" : stage.provenance;
      list += text::cat(list.empty() ? "" : ",\n", "{\"title\": ", json::quote(title),
                        ", \"ms\": ", json::number(stage.milliseconds), ", \"name\": ", json::quote(stage.name),
                        ", \"lines\": ", lines_.add(stage), "}");
    }
    groups_ += text::cat(groups_.empty() ? "\n" : ",\n", "{\"name\": ", json::quote(name), ", \"stages\": [\n", list,
                         "]", program ? as_run(stages.back(), *program) : std::string(), "}");
  }

  std::string as_run(const Trace& trace, const Program& program) {
    const MemoryReport report = memory(trace);
    const auto arguments = static_cast<int>(ExplorerOps::arguments_of(trace));
    const std::string alive = array(report.lines, [](const MemoryReport::Line& line) { return text::cat(line.bytes); });
    const std::string lives = array(lifetimes(trace), [](const Lifetime& life) {
      const std::string name = json::quote(identifier(life.name)), type = json::quote(life.type);
      return text::cat("[", name, ", ", type, ", ", life.bytes, ", ", life.first, ", ", life.last, "]");
    });
    std::string out =
        text::cat(", \"arguments\": ", arguments, ", \"alive\": ", alive, ", \"inputs\": ", report.input_bytes,
                  ", \"peak\": ", report.peak_line, ", \"lives\": ", lives);
    if (!program.is_made()) return out;
    out += text::cat(", \"arena\": ", program.planned_bytes());
    add_kernels(program);
    if (options_.profile) out += cost(program);
    return out;
  }

  void add_kernels(const Program& program) {
    for (const BoundSymbol& bound : get_fusion_symbols(program.trace())) {
      const FoundFusion found = find_fusion(f_, bound.name(), "write_html");
      const FusionTensors tensors = tensors_of(found);
      kernels_ += text::cat(kernels_.empty() ? "\n" : ",\n", json::quote(bound.name()),
                            ": {\"source\": ", json::quote(kernel_text(*found.bound->implementation)),
                            ", \"inputs\": ", tensors_json(tensors.inputs),
                            ", \"outputs\": ", tensors_json(tensors.outputs), "}");
    }
  }

  // A report's sections are in the order of the programs: forwards, then backwards.
  std::string cost(const Program& program) const {
    const auto programs = programs_of_last_call(f_, "write_html");
    for (size_t i = 0; i < programs.size() && i < options_.profile->parts.size(); ++i) {
      if (programs[i].get() != &program) continue;
      const Report::Part& part = options_.profile->parts[i];
      if (part.runs == 0) break;
      return text::cat(", \"runs\": ", part.runs, ", \"cost\": ", array(part.lines, [](const Report::Line& l) {
                         if (l.microseconds == 0) return std::string("0");
                         return text::cat("[", json::number(l.microseconds), ",", l.bytes_read, ",", l.bytes_written,
                                          ",", l.operations, ",", json::number(l.share_of_limit), "]");
                       }));
    }
    return "";
  }

  static std::string rows(const std::vector<Report::Row>& all) {
    return array(all, [](const Report::Row& r) {
      return text::cat("[", json::quote(r.name), ", ", r.count, ", ", json::number(r.microseconds), ", ", r.bytes, ", ",
                       r.operations, "]");
    });
  }
  std::string profile() const {
    const Report& report = *options_.profile;
    const MachineLimits& limits = report.limits;
    const std::string bandwidths = array(limits.bandwidths, [](const MachineLimits::Bandwidth& b) {
      return text::cat("[", b.bytes, ", ", json::number(b.bytes_per_second), "]");
    });
    return text::cat("{\"step\": ", json::number(report.step), ", \"plain\": ", json::number(report.plain_step),
                     ", \"lines\": ", json::number(report.in_lines()), ", \"steps\": ", report.steps,
                     ",\n\"operators\": ", rows(report.by_operator()), ",\n\"sources\": ", rows(report.by_user_line()),
                     ",\n\"threads\": ", limits.threads, ", \"f32\": ", json::number(limits.f32_operations),
                     ", \"bf16\": ", json::number(limits.bf16_operations), ", \"bandwidths\": ", bandwidths, "}");
  }

  const Jitted& f_;
  const HtmlOptions& options_;
  ExplorerOps lines_;
  std::string title_, groups_, kernels_;
};

}  // namespace

std::string explorer_data(const Jitted& f, const HtmlOptions& options) { return Data(f, options).text(); }

}  // namespace fulgurite::examine
