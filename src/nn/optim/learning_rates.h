#pragma once
#include <vector>

#include <fulgurite/optim.h>

namespace fulgurite::optim {

/// The learning rate of each group of an optimizer's parameters.
inline std::vector<double> learning_rates(const Optimizer& optimizer) {
  std::vector<double> rates;
  for (size_t group = 0; group < optimizer.group_count(); ++group) rates.push_back(optimizer.learning_rate(group));
  return rates;
}

}  // namespace fulgurite::optim
