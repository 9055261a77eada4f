// Texts of optimizers, schedules, results of loading, metrics and distributions.
#include <ostream>
#include <typeinfo>

#include <fulgurite/printing.h>

#include "support/text/text.h"
#include "support/text/type_name.h"

namespace fulgurite {

std::ostream& nn::operator<<(std::ostream& out, const LoadResult& result) {
  if (result.missing.empty() && result.unexpected.empty()) return out << "all names match";
  const auto list = [&out](const char* kind, const std::vector<std::string>& names) {
    if (!names.empty()) out << kind << text::join(names, [](const std::string& name) { return name; });
  };
  list("missing: ", result.missing);
  if (!result.missing.empty() && !result.unexpected.empty()) out << "; ";
  list("unexpected: ", result.unexpected);
  return out;
}

std::ostream& optim::operator<<(std::ostream& out, const Optimizer& optimizer) {
  out << short_type_name(typeid(optimizer).name()) << "(\n";
  for (size_t group = 0; group < optimizer.group_count(); ++group) {
    int64_t elements = 0;
    const std::vector<Tensor> parameters = optimizer.parameters_of_group(group);
    for (const Tensor& parameter : parameters) elements += static_cast<int64_t>(parameter.numel());
    out << text::cat("  group ", group, ": ", parameters.size(), " tensors, ", elements, " elements, learning rate ",
                     optimizer.learning_rate(group), "\n");
  }
  return out << ")";
}

std::ostream& optim::operator<<(std::ostream& out, const Schedule& schedule) {
  const auto number = [](double rate) { return text::cat(rate); };
  return out << short_type_name(typeid(schedule).name()) << "(iteration " << schedule.iteration() << ", rates "
             << text::join(schedule.last_lr(), number) << ")";
}

std::ostream& metrics::operator<<(std::ostream& out, const ConfusionMatrix& matrix) { return out << matrix.matrix(); }

std::ostream& distributions::operator<<(std::ostream& out, const Distribution& distribution) {
  return out << distribution.name() << "(batch shape " << distribution.batch_shape() << ", event shape "
             << distribution.event_shape() << ")";
}

}  // namespace fulgurite
