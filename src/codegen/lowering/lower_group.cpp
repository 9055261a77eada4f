#include "codegen/lowering/lower_group.h"

#include <algorithm>
#include <cmath>

#include <fulgurite/symbol.h>

#include "codegen/ir/kernel_passes.h"
#include "codegen/lowering/group_lowering.h"
#include "ir/analysis/trace_values.h"
#include "ops/generated/symbols.h"
#include "support/text/text.h"
#include "tensor/meta_tensor.h"

namespace fulgurite::codegen {

namespace {

constexpr int max_dimensions = 8;
constexpr size_t max_values = 160, max_operands = max_plain_operands;

// The operand as a leaf of the value's expression.
ScalarExpr operand_of(KernelValue& value, int operand, Lanes lanes) {
  size_t k = 0;
  while (k < value.operands.size() && value.operands[k] != operand) ++k;
  if (k == value.operands.size()) value.operands.push_back(operand);
  return codegen::operand(static_cast<int>(k), lanes);
}

}  // namespace

Sizes hinted_sizes(const TensorProxy& proxy) {
  Sizes sizes;
  for (const Int size : proxy.shape) sizes.push_back(size.hint());
  return sizes;
}

Tensor Shapes::tensor(const detail::Ref<TensorProxy>& proxy) {
  const Sizes sizes = hinted_sizes(*proxy);
  return meta_tensor(sizes, contiguous_strides(sizes), 0, proxy->dtype);
}

bool is_reduction(const Symbol& symbol) { return symbol.semantics.reduction != Reduction::other; }

namespace {

std::optional<Expression> expression_of_op(const BoundSymbol& bound) {
  Shapes shapes;
  const ArgumentPack pack(bound, shapes);
  return expression_of(*bound.symbol, pack.arguments(), bound.outputs.read()[0].tensor().dtype);
}

}  // namespace

bool has_expression(const BoundSymbol& bound) {
  const Symbol& symbol = *bound.symbol;
  if (is_reduction(symbol) || symbol.semantics.conversion || is_transparent_view(bound)) return true;
  if (symbol.traits.view || symbol.traits.structural || bound.outputs.empty() || !bound.outputs.read()[0].is_tensor())
    return false;
  if (symbol.traits.pointwise && expression_of_op(bound)) return true;
  return !bound.subsymbols.empty() && std::ranges::all_of(bound.subsymbols, has_expression);
}

bool is_plain(const BoundSymbol& bound) {
  const Symbol& symbol = *bound.symbol;
  if (bound.outputs.size() != 1 || !bound.outputs.read()[0].is_tensor()) return false;
  const Shape& shape = bound.outputs.read()[0].tensor().shape;
  const auto long_ones = std::ranges::count_if(shape, [](const Int& size) { return size.hint() != 1; });
  if (long_ones == 0 || long_ones > max_dimensions) return false;
  if (symbol.semantics.conversion) return true;
  return symbol.traits.pointwise && expression_of_op(bound);
}

OpExpressions::OpExpressions(Rounding rounding) : known_(std::make_unique<Known>()) { known_->rounding = rounding; }
OpExpressions::~OpExpressions() = default;

const std::optional<Expression>& OpExpressions::Known::of(const BoundSymbol& bound) {
  const auto [found, is_new] = ops.try_emplace(&bound);
  if (is_new) found->second = expression_of_op(bound);
  return found->second;
}

LoweredGroup lower(const LoopNest& loop_nest, OpExpressions& expressions) {
  LoweredGroup lowered;
  try {
    lowered.kernel = GroupLowering(loop_nest, expressions).run();
    lowered.is_possible = true;
  } catch (const UnsupportedOp& missed_reason) {
    lowered.reason = missed_reason.reason;
  }
  return lowered;
}

Kernel GroupLowering::run() {
  find_sizes();
  for (size_t i = loop_nest_.ops.size(); i-- > 0;) look_ahead(*loop_nest_.ops[i]);
  for (const BoundSymbol* op : loop_nest_.ops) lower(*op);
  choose_rows();
  for (const Value& result : loop_nest_.results) add_output(result);
  check_sizes_show();
  if (kernel_.inputs.size() + kernel_.outputs.size() > max_operands)
    throw UnsupportedOp{"it has too many inputs and results"};
  return remove_dead_values(drop_rounding_before_stores(std::move(kernel_)));
}

// The loop sizes are those of the largest value without dimensions of size 1.
void GroupLowering::find_sizes() {
  int64_t most = -1;
  for (const BoundSymbol* op : loop_nest_.ops) look_at_sizes(*op, most);
  for (const int64_t size : full_) {
    full_dimensions_.push_back(size == 1 ? 0 : 1 << kernel_.dimensions++);
    if (size != 1) loop_sizes_.push_back(size);
  }
  if (kernel_.dimensions == 0) throw UnsupportedOp{"scalar result"};
  if (kernel_.dimensions > max_dimensions) throw UnsupportedOp{"it has too many dimensions"};
}

void GroupLowering::look_at_sizes(const BoundSymbol& bound, int64_t& most) {
  const auto look_at = [&](const Value& value) {
    if (!value.is_tensor()) return;
    const Sizes sizes = hinted_sizes(value.tensor());
    int64_t count = 1;
    for (const int64_t size : sizes) count *= std::max<int64_t>(size, 1);  // empty values have sizes too
    // Among equally large ones, the one with the most dimensions: those of others are joined ones of it.
    const auto parts = [](const Sizes& of) {
      return of.size() - static_cast<size_t>(std::count(of.begin(), of.end(), 1));
    };
    if (count < most || (count == most && parts(sizes) <= parts(full_))) return;
    most = count;
    full_ = sizes;
  };
  for (const BoundSymbol& subsymbol : bound.subsymbols) look_at_sizes(subsymbol, most);
  for_each_output(bound, look_at);
  if (is_reduction(*bound.symbol) || is_transparent_view(bound) || bound.symbol->semantics.table == 0)
    look_at(bound.args.at(0));
}

// Values per row that are unsqueezed and expanded later have the rows' dimensions from the start.
void GroupLowering::look_ahead(const BoundSymbol& bound) {
  for (size_t i = bound.subsymbols.size(); i-- > 0;) look_ahead(bound.subsymbols.read()[i]);
  const std::span<const Value> outputs = bound.outputs.read();
  if (outputs.size() != 1 || !outputs[0].is_tensor()) return;
  const auto known = expected_.find(outputs[0].tensor().id);
  if (is_transparent_view(bound)) {
    const auto after =
        known != expected_.end() ? std::optional(known->second) : aligned_or_none(hinted_sizes(outputs[0].tensor()));
    if (!after) return;
    if (const auto before = dimensions_before_view(bound, *after, loop_sizes_))
      expected_.try_emplace(bound.args.at(0).tensor().id, *before);
  } else if (bound.symbol->traits.pointwise && known != expected_.end()) {
    const Dimensions dimensions = known->second;
    const Sizes sizes = hinted_sizes(outputs[0].tensor());
    for_each_argument(bound, [&](const Value& value) {
      if (value.is_tensor() && hinted_sizes(value.tensor()) == sizes)
        expected_.try_emplace(value.tensor().id, dimensions);
    });
  }
}

void GroupLowering::lower(const BoundSymbol& bound) {
  const Symbol& symbol = *bound.symbol;
  if (is_reduction(symbol)) return lower_reduction(bound);
  if (symbol.semantics.conversion) return lower_conversion(bound);
  if (is_transparent_view(bound)) return lower_view(bound);
  if (const IndexingRule rule = indexing_rule(symbol)) return (this->*rule)(bound);
  if (symbol.traits.pointwise)
    if (const auto& expression = expressions_.of(bound)) return lower_expression(bound, *expression);
  if (bound.subsymbols.empty()) throw UnsupportedOp{text::cat("kernels have no ", symbol.qualified_name())};
  const bool is_one_call = expressions_.is_one_call(bound);
  inside_one_call_ += is_one_call;
  ++depth_;
  for (const BoundSymbol& subsymbol : bound.subsymbols) lower(subsymbol);
  --depth_;
  inside_one_call_ -= is_one_call;
  if (is_one_call && rounds()) round_results(bound);
}

GroupLowering::Node& GroupLowering::node(const Value& value) {
  const auto found = nodes_.find(value.tensor().id);
  if (found != nodes_.end()) return found->second;
  const auto expected = expected_.find(value.tensor().id);
  return nodes_[value.tensor().id] = {
             -1, expected != expected_.end() ? expected->second : aligned(hinted_sizes(value.tensor()))};
}

// A shape's dimensions counted from the last, as in broadcasting; or all loop dimensions, some of them joined; or the
// only ones that fit.
Dimensions GroupLowering::aligned(const Sizes& sizes) const {
  Dimensions dimensions;
  bool fits = true;
  for (size_t d = 0; fits && d < sizes.size(); ++d) {
    const size_t from_end = sizes.size() - d;
    fits = sizes[d] == 1 || (from_end <= full_.size() && full_[full_.size() - from_end] == sizes[d]);
    if (fits) dimensions.push_back(sizes[d] == 1 ? 0 : full_dimensions_[full_.size() - from_end]);
  }
  if (fits) return dimensions;
  if (const auto joined = grouped(sizes, full_dimensions_, loop_sizes_)) return *joined;
  if (const auto only = only_grouping(sizes, loop_sizes_)) return *only;
  throw UnsupportedOp{text::cat("sizes ", Shape(std::vector<int64_t>(sizes.begin(), sizes.end())), " and ",
                                Shape(std::vector<int64_t>(full_.begin(), full_.end())), " do not broadcast")};
}

std::optional<Dimensions> GroupLowering::aligned_or_none(const Sizes& sizes) const {
  try {
    return aligned(sizes);
  } catch (const UnsupportedOp&) {
    return std::nullopt;
  }
}

// The value in the kernel; an input if no op of the group produces it.
int GroupLowering::value_of(const Value& value) {
  Node& n = node(value);
  if (n.value >= 0) {
    if (kernel_.values[n.value].kind == KernelValue::Kind::column_sum)
      throw UnsupportedOp{"a sum over all rows is used in it"};
    return n.value;
  }
  KernelValue input;
  input.kind = KernelValue::Kind::input;
  input.dtype = value.tensor().dtype;
  input.input = static_cast<int>(kernel_.inputs.size());
  input.is_rounded = is_half(input.dtype);
  for (const int bits : n.dimensions) input.dimensions |= bits;
  kernel_.inputs.push_back({value.tensor().id, input.dtype, Extent::full, false, n.dimensions});
  return n.value = add(std::move(input), value.tensor().name);
}

// Reuses an equal value: a backward recomputes values that its forward has computed.
int GroupLowering::add(KernelValue value, const std::string& name) {
  if (value.kind != KernelValue::Kind::input && value.kind != KernelValue::Kind::column_sum) {
    size_t hash = value.expression.hash() ^ static_cast<size_t>(value.kind) << 8 ^ static_cast<size_t>(value.dtype);
    for (const int operand : value.operands) hash = hash * 31 + static_cast<size_t>(operand);
    const auto is_same = [&](const KernelValue& other) {
      return other.kind == value.kind && other.dtype == value.dtype && other.input == value.input &&
             other.operands == value.operands && other.expression == value.expression;
    };
    for (auto [known, end] = made_.equal_range(hash); known != end; ++known)
      if (is_same(kernel_.values[known->second])) return known->second;
    made_.emplace(hash, static_cast<int>(kernel_.values.size()));
  }
  if (kernel_.values.size() == max_values) throw UnsupportedOp{"it has too many values"};
  value.name = name;
  value.lanes = lanes_of(value.dtype);
  kernel_.values.push_back(std::move(value));
  return static_cast<int>(kernel_.values.size()) - 1;
}

void GroupLowering::set_result(const BoundSymbol& bound, int value, Dimensions dimensions) {
  nodes_[bound.outputs.at(0).tensor().id] = {value, std::move(dimensions)};
}

// Infers the result's dimensions from the operands'; operands not seen before follow the others.
Dimensions GroupLowering::broadcast_dimensions(const BoundSymbol& bound) {
  const Sizes sizes = hinted_sizes(bound.outputs.at(0).tensor());
  constexpr int unknown = -2;
  Dimensions dimensions;
  dimensions.resize(sizes.size(), unknown);
  for_each_argument(bound, [&](const Value& operand) {
    if (!operand.is_tensor() || !is_known(operand)) return;
    const Dimensions& own = node(operand).dimensions;
    for (size_t d = 0; d < own.size(); ++d) {
      int& of_result = dimensions[sizes.size() - own.size() + d];
      if (own[d] == 0) continue;
      if (of_result != unknown && of_result != own[d]) throw UnsupportedOp{"conflicting layouts"};
      of_result = own[d];
    }
  });
  if (std::ranges::find(dimensions, unknown) != dimensions.end()) {
    const auto expected = expected_.find(bound.outputs.at(0).tensor().id);
    const Dimensions otherwise =
        expected != expected_.end() ? expected->second : aligned_or_none(sizes).value_or(Dimensions());
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (dimensions[d] != unknown) continue;
      if (sizes[d] != 1 && otherwise.empty()) throw UnsupportedOp{"sizes do not broadcast"};
      dimensions[d] = sizes[d] == 1 ? 0 : otherwise[d];
    }
  }
  int before = 0;
  for (const int bits : dimensions) {
    if (bits == 0) continue;
    if (bits <= before || (bits & before) != 0) throw UnsupportedOp{"conflicting layouts"};
    before |= bits;
  }
  for_each_argument(bound, [&](const Value& operand) {
    if (!operand.is_tensor() || is_known(operand)) return;
    const Sizes own = hinted_sizes(operand.tensor());
    Node fresh;
    for (size_t d = 0; d < own.size(); ++d)
      fresh.dimensions.push_back(own[d] == 1 ? 0 : dimensions[sizes.size() - own.size() + d]);
    nodes_[operand.tensor().id] = fresh;
  });
  return dimensions;
}

void GroupLowering::lower_expression(const BoundSymbol& bound, const Expression& expression) {
  const Dimensions dimensions = broadcast_dimensions(bound);
  SmallVector<const Value*, 8> given;
  for (const Value& value : bound.args) given.push_back(&value);
  for (const auto& [key, value] : bound.kwargs) given.push_back(&value);
  KernelValue result;
  result.is_costly = expression.is_costly;
  result.dtype = bound.outputs.at(0).tensor().dtype;
  SmallVector<ScalarExpr, 8> arguments(given.size());
  for (const int i : expression.arguments) {
    const Dtype read = i == expression.condition ? Dtype::boolean : expression.read;
    const Value& argument = *given[static_cast<size_t>(i)];
    if (!argument.is_tensor()) {
      arguments[static_cast<size_t>(i)] = number(number_of(argument), read);
      continue;
    }
    const int operand = value_of(argument);
    const KernelValue& value = kernel_.values[operand];
    arguments[static_cast<size_t>(i)] = converted(operand_of(result, operand, value.lanes), value.dtype, read);
    result.dimensions |= value.dimensions;
  }
  if (bound.symbol->semantics.equality) keep_exact_comparisons(result.operands);
  result.expression = substituted(expression.value, {arguments.data(), arguments.size()});
  if (const auto share = share_of_row(result)) result = *share;
  const bool stays = lanes_of(expression.computed) == Lanes::floats && lanes_of(result.dtype) == Lanes::floats;
  if (!stays && expression.computed != result.dtype)
    result.expression = converted(result.expression, expression.computed, result.dtype);
  if (is_half(result.dtype)) {
    result.is_rounded = is_exact(bound, expression);
    if (!result.is_rounded && rounds()) {
      result.expression = rounded_to(result.expression, result.dtype);
      result.is_rounded = true;
    }
  }
  set_result(bound, add(std::move(result), bound.outputs.at(0).tensor().name), dimensions);
}

// Integers above 16 are usually sizes: as arguments they leave the kernel the same for all sizes.
ScalarExpr GroupLowering::number(const Argument& value, Dtype dtype) {
  const double n = value.floating().hint();
  const bool may_be_size = is_floating(dtype) && n == std::trunc(n) && std::fabs(n) > 16 && std::fabs(n) < 0x1p24;
  if (!may_be_size) return constant(value, dtype);
  kernel_.numbers.push_back(n);
  return launch_number(static_cast<int>(kernel_.numbers.size()) - 1, lanes_of(dtype));
}

void GroupLowering::lower_view(const BoundSymbol& bound) {
  const Value &input = bound.args.at(0), &output = bound.outputs.at(0);
  const auto refuse = [&] {
    throw UnsupportedOp{text::cat("kernels cannot look through this ", bound.symbol->qualified_name())};
  };
  const std::optional<Dimensions> after = aligned_or_none(hinted_sizes(output.tensor()));
  if (!is_known(input) && after) {
    const auto before = dimensions_before_view(bound, *after, loop_sizes_);
    if (!before) refuse();
    nodes_[input.tensor().id] = {-1, *before};
  }
  const int value = value_of(input);
  const auto dimensions = dimensions_after_view(bound, node(input).dimensions, after, loop_sizes_);
  if (!dimensions) refuse();
  set_result(bound, value, *dimensions);
}

}  // namespace fulgurite::codegen
