// Texts of containers of tensors, options, indices, generators and statistics.
#include <ostream>

#include <fulgurite/printing.h>

namespace fulgurite {
namespace {

template <class Items, class Print>
std::ostream& print_list(std::ostream& out, char open, const Items& items, char close, Print print) {
  out << open;
  const char* separator = "";
  for (const auto& item : items) {
    out << separator;
    print(item);
    separator = ", ";
  }
  return out << close;
}

void print_bound(std::ostream& out, const std::optional<Int>& bound) {
  if (bound) out << *bound;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const std::vector<Tensor>& tensors) {
  return print_list(out, '[', tensors, ']', [&out](const Tensor& tensor) { out << tensor; });
}

std::ostream& operator<<(std::ostream& out, const std::map<std::string, Tensor>& tensors) {
  return print_list(out, '{', tensors, '}', [&out](const auto& item) { out << item.first << ": " << item.second; });
}

std::ostream& printing_detail::print_optional(std::ostream& out, const Tensor* tensor) {
  return tensor == nullptr ? out << "None" : out << *tensor;
}

std::ostream& printing_detail::print_tuple(std::ostream& out, std::initializer_list<const Tensor*> items) {
  return print_list(out, '(', items, ')', [&out](const Tensor* tensor) { out << *tensor; });
}

std::ostream& operator<<(std::ostream& out, const TensorOptions& options) {
  out << "TensorOptions(dtype=" << options.dtype.value_or(default_dtype()) << (options.dtype ? "" : " (default)");
  return out << ", device=" << options.device << ", requires_grad=" << (options.requires_grad ? "true)" : "false)");
}

std::ostream& operator<<(std::ostream& out, const Slice& slice) {
  print_bound(out, slice.start);
  out << ':';
  print_bound(out, slice.stop);
  if (!slice.step) return out;
  return out << ':' << *slice.step;
}

std::ostream& printing_detail::print_index(std::ostream& out, const Index& index) {
  switch (index.kind()) {
    case Index::Kind::integer: return out << index.integer();
    case Index::Kind::slice: return out << index.slice();
    case Index::Kind::ellipsis: return out << "...";
    case Index::Kind::none: return out << "None";
    case Index::Kind::tensor: return out << index.tensor();
    case Index::Kind::integers: return out << index.integers();
  }
  return out;
}

std::ostream& operator<<(std::ostream& out, const Generator& generator) {
  return out << "Generator(seed=" << generator.initial_seed() << ')';
}

std::ostream& operator<<(std::ostream& out, const std::vector<Trace>& traces) {
  const char* separator = "";
  for (const Trace& trace : traces) {
    out << separator << trace;
    separator = "\n";
  }
  return out;
}

std::ostream& operator<<(std::ostream& out, const CacheStats& stats) {
  return out << "versions " << stats.versions << ", sets of values " << stats.sets_of_values << ", evicted "
             << stats.evicted << "; bytes of programs " << stats.programs << ", arenas " << stats.arenas << ", traces "
             << stats.traces;
}

std::ostream& operator<<(std::ostream& out, const CompileStats& stats) {
  return out << "calls " << stats.calls << ", hits " << stats.hits << ", misses " << stats.misses << "; compiled in "
             << stats.total << " ms (tracing " << stats.tracing << ", transforms " << stats.transforms << ", planning "
             << stats.planning << "); last call " << stats.last_call << " us, mean " << stats.mean_call << " us";
}

}  // namespace fulgurite
