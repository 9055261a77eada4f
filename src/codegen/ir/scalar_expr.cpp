#include "codegen/ir/scalar_expr.h"

#include <bit>

#include <fulgurite/error.h>

#include "support/text/text.h"
#include "tensor/half.h"

namespace fulgurite::codegen {

bool ScalarExpr::has(ScalarOp op) const {
  for (const ScalarNode& node : nodes())
    if (node.op == op) return true;
  return false;
}

bool ScalarExpr::is_plain(ScalarOp op) const {
  if (!is(op) || nodes_.size() != record_of(op).operands + size_t{1}) return false;
  for (size_t i = 0; i + 1 < nodes_.size(); ++i)
    if (nodes_[i].op != ScalarOp::operand || nodes_[i].payload != static_cast<int64_t>(i)) return false;
  return true;
}

size_t ScalarExpr::hash() const {
  size_t hash = nodes_.size();
  for (const ScalarNode& node : nodes())
    hash = (hash * 31 + static_cast<size_t>(node.op)) * 31 + static_cast<size_t>(node.payload);
  return hash;
}

void ScalarExpr::replace(ScalarOp from, ScalarOp to) {
  for (ScalarNode& node : nodes_)
    if (node.op == from) node.op = to;
}

ScalarExpr ScalarExpr::inner() const {
  ScalarExpr out;
  for (size_t i = 0; i <= root().operands[0]; ++i) out.nodes_.push_back(nodes_[i]);
  return out;
}

bool operator==(const ScalarExpr& a, const ScalarExpr& b) {
  return a.nodes_.size() == b.nodes_.size() && std::equal(a.nodes_.begin(), a.nodes_.end(), b.nodes_.begin());
}

// Returns the index of its root among this expression's nodes.
uint8_t ScalarExpr::append(const ScalarExpr& other) {
  const size_t first = nodes_.size();
  if (first + other.nodes_.size() > 200) throw InternalError("an expression of a kernel has too many operations");
  for (ScalarNode node : other.nodes()) {
    for (size_t k = 0; k < record_of(node.op).operands; ++k)
      node.operands[k] = static_cast<uint8_t>(node.operands[k] + first);
    nodes_.push_back(node);
  }
  return static_cast<uint8_t>(nodes_.size() - 1);
}

namespace {

void check_signature(ScalarOp op, Lanes result, std::span<const ScalarExpr* const> operands) {
  const ScalarOpRecord& record = record_of(op);
  bool fits = operands.size() == record.operands;
  for (size_t k = 0; fits && k < operands.size(); ++k) {
    const Lanes type = operands[k]->type();
    if (op == ScalarOp::select) fits = type == (k == 0 ? Lanes::mask : result);
    else if (op == ScalarOp::convert) fits = accepts(record.type, type) && accepts(record.type, result);
    else fits = accepts(record.type, type) && type == operands[0]->type();
  }
  const bool changes_type = op == ScalarOp::select || op == ScalarOp::convert;
  const Lanes expected = is_comparison(op)                  ? Lanes::mask
                         : op == ScalarOp::mask_to_number   ? Lanes::ints
                         : changes_type || operands.empty() ? result
                                                            : operands[0]->type();
  if (!fits || expected != result) throw InternalError(text::cat("kernels have no ", record.name, " of these types"));
}

}  // namespace

ScalarExpr apply(ScalarOp op, Lanes result, std::span<const ScalarExpr* const> operands) {
  check_signature(op, result, operands);
  ScalarExpr out;
  ScalarNode root{op, result};
  for (size_t k = 0; k < operands.size(); ++k) root.operands[k] = out.append(*operands[k]);
  out.nodes_.push_back(root);
  return out;
}

ScalarExpr substituted(const ScalarExpr& expression, std::span<const ScalarExpr> operands) {
  ScalarExpr out;
  SmallVector<uint8_t, 16> at;  // by the expression's node
  for (ScalarNode node : expression.nodes()) {
    if (node.op == ScalarOp::operand) {
      const ScalarExpr& by = operands[static_cast<size_t>(node.payload)];
      if (by.empty() || by.type() != node.type)
        throw InternalError("an operand of a kernel's expression has another type");
      at.push_back(out.append(by));
      continue;
    }
    for (size_t k = 0; k < record_of(node.op).operands; ++k) node.operands[k] = at[node.operands[k]];
    out.nodes_.push_back(node);
    at.push_back(static_cast<uint8_t>(out.nodes_.size() - 1));
  }
  return out;
}

namespace {

ScalarExpr leaf(ScalarOp op, Lanes type, int64_t payload) {
  return ScalarExpr(ScalarNode{op, type, {0, 0, 0}, payload});
}

int64_t wrapped(int64_t whole, Dtype dtype) {
  switch (dtype) {
    case Dtype::i64: return whole;
    case Dtype::u8: return static_cast<uint8_t>(whole);
    case Dtype::i8: return static_cast<int8_t>(whole);
    case Dtype::i16: return static_cast<int16_t>(whole);
    default: return static_cast<int32_t>(whole);
  }
}

double rounded(double value, Dtype dtype) {
  switch (dtype) {
    case Dtype::f64: return value;
    case Dtype::bf16: return bf16_to_float(float_to_bf16(static_cast<float>(value)));
    case Dtype::f16: return f16_to_float(float_to_f16(static_cast<float>(value)));
    default: return static_cast<float>(value);
  }
}

}  // namespace

ScalarExpr operand(int index, Lanes type) { return leaf(ScalarOp::operand, type, index); }
ScalarExpr launch_number(int index, Lanes type) { return leaf(ScalarOp::launch_number, type, index); }
ScalarExpr column_index() { return leaf(ScalarOp::column_index, Lanes::ints, 0); }
ScalarExpr column_count(Lanes type) { return leaf(ScalarOp::column_count, type, 0); }
ScalarExpr whole(int number, Lanes type) { return leaf(ScalarOp::whole, type, number); }

ScalarExpr constant(const Argument& number, Dtype dtype) {
  const Lanes type = lanes_of(dtype);
  const double value = number.floating().hint();
  if (is_floating(dtype)) return leaf(ScalarOp::number, type, std::bit_cast<int64_t>(rounded(value, dtype)));
  if (dtype == Dtype::boolean) return leaf(ScalarOp::number, type, value != 0);
  const int64_t whole = number.is_floating() ? static_cast<int64_t>(value) : number.integer().hint();
  return leaf(ScalarOp::number, type, wrapped(whole, dtype));
}

double floating_value(const ScalarNode& node) { return std::bit_cast<double>(node.payload); }

ScalarExpr apply(ScalarOp op, const ScalarExpr& a) {
  const ScalarExpr* const operands[] = {&a};
  return apply(op, op == ScalarOp::mask_to_number ? Lanes::ints : a.type(), operands);
}

ScalarExpr apply(ScalarOp op, const ScalarExpr& a, const ScalarExpr& b) {
  const ScalarExpr* const operands[] = {&a, &b};
  return apply(op, is_comparison(op) ? Lanes::mask : a.type(), operands);
}

ScalarExpr multiply_add(const ScalarExpr& a, const ScalarExpr& b, const ScalarExpr& c) {
  const ScalarExpr* const operands[] = {&a, &b, &c};
  return apply(ScalarOp::multiply_add, a.type(), operands);
}

ScalarExpr select(const ScalarExpr& mask, const ScalarExpr& a, const ScalarExpr& b) {
  const ScalarExpr* const operands[] = {&mask, &a, &b};
  return apply(ScalarOp::select, a.type(), operands);
}

ScalarExpr operator+(const ScalarExpr& a, const ScalarExpr& b) { return apply(ScalarOp::add, a, b); }
ScalarExpr operator-(const ScalarExpr& a, const ScalarExpr& b) { return apply(ScalarOp::subtract, a, b); }
ScalarExpr operator*(const ScalarExpr& a, const ScalarExpr& b) { return apply(ScalarOp::multiply, a, b); }
ScalarExpr operator/(const ScalarExpr& a, const ScalarExpr& b) { return apply(ScalarOp::divide, a, b); }

bool is_rounding(const ScalarExpr& x) {
  return x.is(ScalarOp::round_bf16) || x.is(ScalarOp::round_inside_bf16) || x.is(ScalarOp::round_f16);
}

ScalarExpr rounded_to(const ScalarExpr& x, Dtype dtype) {
  return apply(dtype == Dtype::bf16 ? ScalarOp::round_bf16 : ScalarOp::round_f16, x);
}

ScalarExpr converted(const ScalarExpr& x, Dtype from, Dtype to) {
  const Lanes wanted = lanes_of(to);
  if (from == to) return x;
  if (from == Dtype::boolean) {
    const ScalarExpr number = apply(ScalarOp::mask_to_number, x);
    return wanted == Lanes::ints ? number : converted(number, Dtype::u8, to);
  }
  if (to == Dtype::boolean) return apply(ScalarOp::not_equal, x, whole(0, x.type()));
  const ScalarExpr* const operands[] = {&x};
  ScalarExpr out = x.type() == wanted ? x : apply(ScalarOp::convert, wanted, operands);
  const bool is_byte = from == Dtype::i8 || from == Dtype::u8;
  switch (to) {
    case Dtype::bf16:
    case Dtype::f16: return is_byte ? out : rounded_to(out, to);
    case Dtype::i16: return is_byte ? out : apply(ScalarOp::wrap_i16, out);
    case Dtype::i8: return apply(ScalarOp::wrap_i8, out);
    case Dtype::u8: return apply(ScalarOp::wrap_u8, out);
    default: return out;
  }
}

}  // namespace fulgurite::codegen
