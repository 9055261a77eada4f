#include <ctime>
#include <optional>

#include "jit/diagnostics/file_and_line.h"
#include "jit/jit_state.h"
#include "support/log.h"
#include "support/text/base_name.h"
#include "support/text/plural.h"
#include "support/text/text.h"

namespace fulgurite {

namespace detail {

std::string file_and_line(SourceLocation at) {
  if (at.line == 0) return "an unknown line";
  const std::string_view file = text::base_name(at.file);
  return text::cat(file, ":", at.line);
}

namespace {

std::string date_and_time(std::chrono::system_clock::time_point when) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(when);
  std::tm local{};
  localtime_r(&seconds, &local);
  char out[32];
  std::strftime(out, sizeof out, "%Y-%m-%d %H:%M:%S", &local);
  return out;
}

std::string milliseconds(double value) {
  return text::cat(static_cast<double>(static_cast<int64_t>(value * 100 + 0.5)) / 100, " ms");
}

std::string times(const CacheEntry& entry) {
  return text::cat("took ", milliseconds(entry.total), " (tracing ", milliseconds(entry.tracing), ", transforms ",
                   milliseconds(entry.transforms), ", planning ", milliseconds(entry.planning), ")");
}

// The items of a key, each with the name of its leaf; empty names for structure.
struct NamedItems {
  std::vector<KeyItem> items;
  std::vector<std::string> names;
  std::vector<std::string> tensor_names;

  NamedItems(const SmallVector<uint64_t, 64>& key, const std::vector<std::string>& leaf_names)
      : items(read_key(key.data(), key.size())) {
    size_t leaf = 0;
    for (const KeyItem& item : items) {
      names.push_back(item.is_leaf() && leaf < leaf_names.size() ? leaf_names[leaf++] : "");
      if (item.kind == KeyItem::Kind::tensor || item.kind == KeyItem::Kind::no_tensor)
        tensor_names.push_back(names.back());
    }
  }

  static std::string text_of(const KeyItem& item) {
    const bool is_text = item.kind == KeyItem::Kind::text || item.kind == KeyItem::Kind::structure_text;
    return is_text ? text::cat('"', item.text, '"') : item.text;
  }

  std::string sharing(const KeyItem& item) const {
    if (item.shares_with < 0) return "shares memory with no earlier tensor";
    return text::cat(item.is_same ? "is the same tensor as " : "shares memory with ", tensor_names[item.shares_with]);
  }
};

// The text before the sizes: "cpu f32"
std::string_view without_sizes(std::string_view type) { return type.substr(0, type.find('[')); }

std::optional<Change> difference(const NamedItems& now, const NamedItems& before, size_t i) {
  const KeyItem& a = now.items[i];
  const KeyItem& b = before.items[i];
  const bool is_list = a.kind == KeyItem::Kind::structure && b.kind == a.kind;
  const std::string subject = is_list ? "a list" : now.names[i];
  std::vector<std::string> changes;
  if (a.kind != b.kind || a.text != b.text)
    changes.push_back(text::cat(NamedItems::text_of(a), " instead of ", NamedItems::text_of(b)));
  if (a.requires_grad != b.requires_grad)
    changes.emplace_back(a.requires_grad ? "requires a gradient now" : "no longer requires a gradient");
  if (a.shares_with != b.shares_with || a.is_same != b.is_same) changes.push_back(now.sharing(a));
  if (changes.empty()) return std::nullopt;
  Change change;
  change.what = !subject.empty()                 ? subject
                : a.kind == KeyItem::Kind::modes ? "gradients on or off, the default dtype, or autocasting"
                                                 : "the structure of arguments";
  change.text = text::cat(subject, subject.empty() ? "" : ": ",
                          text::join(
                              changes, [](const std::string& one) { return one; }, ", "));
  const bool are_tensors = a.kind == KeyItem::Kind::tensor && b.kind == a.kind;
  const bool are_numbers = a.kind == b.kind && (a.kind == KeyItem::Kind::integer || a.kind == KeyItem::Kind::floating);
  const bool is_one = changes.size() == 1 && a.requires_grad == b.requires_grad;
  if (are_tensors && is_one && without_sizes(a.text) == without_sizes(b.text)) change.kind = Change::Kind::size;
  if (are_numbers) change.kind = Change::Kind::number;
  return change;
}

/// The differences of the captured tensors from their recorded state.
std::vector<Change> captured_differences(const CacheEntry& entry) {
  SmallVector<uint64_t, 64> key;
  for (const Tensor& tensor : entry.captures) append_tensor_key(*tensor.impl(), key);
  const NamedItems now(key, entry.capture_names), before(entry.capture_key, entry.capture_names);
  std::vector<Change> differences;
  for (size_t i = 0; i < now.items.size(); ++i) {
    std::optional<Change> one = difference(now, before, i);
    if (!one) continue;
    one->what.insert(0, "captured ");
    one->text.insert(0, "captured ");
    one->kind = Change::Kind::other;
    differences.push_back(*std::move(one));
  }
  return differences;
}

std::string strides_text(const Sizes& strides) {
  return text::cat("(", text::join(strides, [](int64_t stride) { return stride; }), ")");
}

/// The differences of layouts, where they matter. Leaves of other types are reported earlier.
std::vector<Change> layout_differences(const CacheEntry& entry, const FlatArguments& flat) {
  std::vector<Change> differences;
  for (const StrideGuard& guard : entry.stride_guards)
    if (!guard.holds(flat))
      differences.push_back(
          {guard.name, text::cat(guard.name, ": strides ", strides_text(guard.of(flat).impl()->strides), " instead of ",
                                 strides_text(guard.strides))});
  for (const auto& [leaf, tensor] : entry.reached)
    if (!flat.tensors()[static_cast<size_t>(leaf)]->is_same(tensor))
      differences.push_back({"an argument", "an argument is no longer the tensor that the function captured"});
  for (size_t i = 0; i < entry.captures.size() && entry.writes; ++i)
    if (const int leaf = leaf_that_shares(entry.captures[i], flat); leaf != entry.sharing[i])
      differences.push_back(
          {text::cat("captured ", entry.capture_names[i]),
           text::cat("captured ", entry.capture_names[i],
                     leaf < 0 ? " shares memory with no argument now" : " shares memory with an argument now")});
  return differences;
}

}  // namespace

std::vector<Change> changes_since(const CacheEntry& newest, const FlatArguments& flat,
                                  const std::vector<std::string>& names) {
  const NamedItems now(flat.key(), names), before(newest.key, newest.leaf_names);
  std::vector<Change> differences;
  if (flat.key()[1] != newest.key[1]) differences.push_back({"the argument types", "other argument types"});
  for (size_t i = 0; i < std::min(now.items.size(), before.items.size()) && differences.size() < 3; ++i)
    if (std::optional<Change> one = difference(now, before, i)) differences.push_back(*std::move(one));
  if (now.items.size() != before.items.size() && differences.empty())
    differences.push_back({"the number of arguments", "another number of arguments"});
  if (differences.empty()) differences = captured_differences(newest);
  if (differences.empty()) differences = layout_differences(newest, flat);
  return differences;
}

void log_compile(const JitState& state, const CacheEntry& entry) {
  if (logs(LogChannel::recompiles))
    log(LogChannel::recompiles,
        text::cat("jitted at ", file_and_line(state.made_at()), ", called at ", file_and_line(entry.called_at), ": ",
                  entry.reason, "\n", times(entry), "\n"));
  if (logs(LogChannel::traces) && entry.stages)
    for (const std::vector<Trace>* stages : {&entry.stages->forward, &entry.stages->backward})
      for (const Trace& stage : *stages) log(LogChannel::traces, print(stage));
}

}  // namespace detail

std::string explain(const Jitted& f) {
  const detail::JitState& state = *f.state();
  const auto entries = state.store().entries();
  const CompileStats stats = state.stats();
  std::string out = text::cat("jitted at ", detail::file_and_line(state.made_at()), ": ", counted(stats.calls, "call"),
                              ", ", counted(stats.hits, "hit"), ", ", counted(stats.misses, "compile"), "\n");
  if (const int64_t evicted = state.store().evicted())
    out +=
        text::cat(entries.size(), entries.size() == 1 ? " entry is" : " entries are", " kept, ", evicted, " evicted\n");
  for (const auto& entry : entries) {
    out += text::cat("compile ", entry->number, " at ", detail::date_and_time(entry->when), ", called at ",
                     detail::file_and_line(entry->called_at), "\n");
    out += text::cat("  why: ", entry->reason, "\n");
    out += text::cat("  ", detail::times(*entry), "\n");
    const detail::NamedItems named(entry->key, entry->leaf_names);
    out += text::cat("  holds for: ", named.items[0].text);
    for (size_t i = 1; i < named.items.size(); ++i)
      if (named.items[i].is_leaf())
        out += text::cat(", ", named.names[i], ": ", detail::NamedItems::text_of(named.items[i]),
                         named.items[i].requires_grad ? " requires_grad" : "",
                         named.items[i].shares_with >= 0 ? " (" + named.sharing(named.items[i]) + ")" : std::string());
    if (entry->symbolic) {
      out += "\n  holds where: ";
      const auto& guards = entry->symbolic->guards;
      out += guards.empty() ? std::string("the sizes and numbers may be any")
                            : text::join(guards, [](const auto& guard) { return guard_text(*guard); });
    }
    out += "\n  captured: ";
    if (entry->captures.empty()) out += "no tensors";
    for (size_t i = 0; i < entry->captures.size(); ++i)
      out += text::cat(i ? ", " : "", entry->capture_names[i], ": ", type_text(entry->captures[i]),
                       entry->captures[i].requires_grad() ? " requires_grad" : "");
    out += '\n';
    if (entry->has_graph_breaks) {
      out += "  graph breaks: the body runs at every call and calls compiled subgraphs\n";
      for (const std::string& one : entry->breaks) out += text::cat("    ", one, "\n");
    } else {
      out += entry->backward ? "  forward and backward\n" : "  forward only\n";
    }
  }
  return out;
}

}  // namespace fulgurite
