#pragma once
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <fulgurite/tensor.h>

namespace fulgurite::test {

/// One step of a program: it makes a value of earlier ones, or writes into one.
struct WriteStep {
  std::string kind;
  int on = 0, other = 0;  // values by their numbers
  std::vector<int64_t> numbers;
  double number = 0;
  bool writes() const { return kind.back() == '_'; }
};
/// The result of a step on the values before it.
Tensor made(const WriteStep&, const std::vector<Tensor>& values);
/// Does a step that writes.
void write(const WriteStep&, const std::vector<Tensor>& values);

std::string json(const std::vector<int64_t>&);
std::string json(const std::vector<WriteStep>&);

/// Draws steps while running them on plain tensors, for the shapes. The first values are leaves, never written.
class StepDrawing {
 public:
  StepDrawing(unsigned seed, int leaf_count) : random_(seed), leaf_count_(leaf_count) {}

  int below(int64_t n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  int last() const { return static_cast<int>(values_.size()) - 1; }
  /// Begins with these values, of which leaves and their aliases are only read; `roots`: the root of each one's memory.
  void begin(std::vector<Tensor> values, std::vector<int> roots);
  /// Begins another program with some of the values unchanged; each root is the first of them in its memory.
  void go_on_with(const std::vector<int>& numbers);
  /// A step, done; its kind is empty where none was found.
  WriteStep step();
  /// The same, with views and writes more often than operators.
  WriteStep step_of_views();
  WriteStep write_step();
  /// A view or a copy, depending on strides, or a value without a history.
  WriteStep view_of_strides();

 private:
  int draw_number();
  WriteStep done(WriteStep);
  void add_value(const WriteStep&);
  WriteStep draw_view();
  WriteStep draw_value();
  WriteStep draw_write();
  int same_shape(int of);

  std::mt19937 random_;
  int leaf_count_;
  std::vector<Tensor> values_;
  std::vector<int> roots_;  // whose memory each value is in
  std::vector<char> read_only_;
};

}  // namespace fulgurite::test
