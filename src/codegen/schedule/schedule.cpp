#include <algorithm>
#include <span>

#include "codegen/ir/kernel.h"

namespace fulgurite::codegen {

namespace {

using Kind = KernelValue::Kind;

// Limits for recomputing a value instead of caching it: few operations, none of them costly, on rows that are read
// anyway or are few.
constexpr int max_repeated = 4, max_repeated_loads = 2;

bool is_row_reduction(const KernelValue& value) {
  return value.kind == Kind::sum || value.kind == Kind::largest || value.kind == Kind::smallest;
}

class Scheduling {
 public:
  explicit Scheduling(const Kernel& kernel) : kernel_(kernel), count_(static_cast<int>(kernel.values.size())) {}

  Schedule run() {
    find_used();
    find_levels();
    schedule_.kept.assign(kernel_.values.size(), -1);
    schedule_.row_loops.resize(static_cast<size_t>(row_loops_));
    // From the last row loop on, because a later one decides what an earlier one caches.
    for (int row_loop = row_loops_; row_loop-- > 0;) fill(row_loop);
    for (int i = 0; i < count_; ++i) place_row_value(i);
    return std::move(schedule_);
  }

 private:
  const KernelValue& value(int i) const { return kernel_.values[static_cast<size_t>(i)]; }
  bool is_computed(int i) const { return value(i).kind == Kind::computed; }

  // Dead values (not needed by any store) are skipped.
  void find_used() {
    is_used_.assign(kernel_.values.size(), false);
    for (int i = count_; i-- > 0;) {
      is_used_[i] = is_used_[i] || value(i).output >= 0;
      // A gather loads its index itself.
      if (is_used_[i] && value(i).kind != Kind::taken)
        for (const int operand : value(i).operands) is_used_[operand] = true;
    }
  }

  // A value's level is the number of row loops that must have ended before it can be computed.
  void find_levels() {
    level_.assign(kernel_.values.size(), 0);
    for (int i = 0; i < count_; ++i) {
      for (const int operand : value(i).operands) level_[i] = std::max(level_[i], level_[operand]);
      if (!is_used_[i]) continue;
      if (is_row_reduction(value(i))) row_loops_ = std::max(row_loops_, ++level_[i]);
      else if (value(i).kind == Kind::column_sum || (value(i).output >= 0 && value(i).extent == Extent::full))
        row_loops_ = std::max(row_loops_, level_[i] + 1);
    }
  }

  // Counts the operations and loads of recomputing a value; a costly one counts as the maximum.
  void count_repeated(int i, std::vector<char>& seen, int& operations, int& loads) const {
    if (value(i).extent != Extent::full || seen[i]) return;
    seen[i] = true;
    if (value(i).kind == Kind::input) {
      ++loads;
      return;
    }
    operations += value(i).is_costly ? max_repeated + 1 : 1;
    for (const int operand : value(i).operands) count_repeated(operand, seen, operations, loads);
  }
  bool is_worth_caching(int i) const {
    std::vector<char> seen(kernel_.values.size(), false);
    int operations = 0, loads = 0;
    count_repeated(i, seen, operations, loads);
    return operations > max_repeated || loads > max_repeated_loads;
  }

  void need(int i, int row_loop) {
    const KernelValue& v = value(i);
    if (v.extent != Extent::full || needed_[i]) return;
    needed_[i] = true;
    RowLoop& s = schedule_.row_loops[static_cast<size_t>(row_loop)];
    if (v.kind == Kind::input) {
      s.loaded.push_back(i);
      return;
    }
    // A result may have been stored non-temporally.
    if (level_[i] < row_loop && (schedule_.kept[i] >= 0 || v.output >= 0 || is_worth_caching(i))) {
      if (schedule_.kept[i] < 0) schedule_.kept[i] = schedule_.kept_rows++;
      s.cached_loads.push_back(i);
      return;
    }
    for (const int operand : v.operands) need(operand, row_loop);
    s.computed.push_back(i);
  }

  void fill(int row_loop) {
    needed_.assign(kernel_.values.size(), false);
    RowLoop& s = schedule_.row_loops[static_cast<size_t>(row_loop)];
    for (int i = 0; i < count_; ++i) {
      const KernelValue& v = value(i);
      if (!is_used_[i]) continue;
      if ((is_row_reduction(v) && level_[i] == row_loop + 1) ||
          (v.kind == Kind::column_sum && v.output >= 0 && level_[i] == row_loop)) {
        need(v.operands[0], row_loop);
        s.reduced.push_back(i);
        continue;
      }
      if (level_[i] != row_loop || v.extent != Extent::full || v.kind == Kind::column_sum) continue;
      if (v.output >= 0) s.stored.push_back(i);
      if (schedule_.kept[i] >= 0) s.cached_stores.push_back(i);
      if (v.output >= 0 || schedule_.kept[i] >= 0) need(i, row_loop);
    }
    for (std::vector<int>* list : {&s.loaded, &s.computed}) std::sort(list->begin(), list->end());
  }

  void place_row_value(int i) {
    const KernelValue& v = value(i);
    if (!is_used_[i] || v.extent == Extent::full || is_row_reduction(v) || v.kind == Kind::column_sum) return;
    if (v.extent == Extent::uniform) schedule_.uniform_values.push_back(i);
    else if (level_[i] == 0) schedule_.row_values.push_back(i);
    else schedule_.row_loops[static_cast<size_t>(level_[i]) - 1].row_values.push_back(i);
  }

  const Kernel& kernel_;
  const int count_;
  int row_loops_ = 0;
  std::vector<int> level_;
  std::vector<char> needed_, is_used_;
  Schedule schedule_;
};

}  // namespace

Schedule schedule(const Kernel& kernel) { return Scheduling(kernel).run(); }

void plan_row_loops(Kernel& kernel, const Schedule& schedule) {
  for (size_t row_loop = 0; row_loop < schedule.row_loops.size(); ++row_loop) {
    for (const int i : schedule.row_loops[row_loop].loaded)
      kernel.inputs[static_cast<size_t>(kernel.values[static_cast<size_t>(i)].input)].row_loop =
          static_cast<int>(row_loop);
    for (const int i : schedule.row_loops[row_loop].stored)
      kernel.outputs[static_cast<size_t>(kernel.values[static_cast<size_t>(i)].output)].row_loop =
          static_cast<int>(row_loop);
  }
  // A gather may read any element of its row: if rows are whole, before the row loop that follows; else at any time.
  const auto take = [&](std::span<const int> row_values, int row_loop) {
    for (const int i : row_values)
      if (const KernelValue& value = kernel.values[static_cast<size_t>(i)]; value.kind == Kind::taken) {
        int& last = kernel.inputs[static_cast<size_t>(value.input)].row_loop;
        last = kernel.has_row_sums ? std::max(last, row_loop) : max_row_loops;
      }
  };
  take(schedule.row_values, 0);
  for (size_t row_loop = 0; row_loop < schedule.row_loops.size(); ++row_loop)
    take(schedule.row_loops[row_loop].row_values, static_cast<int>(row_loop) + 1);
}

}  // namespace fulgurite::codegen
