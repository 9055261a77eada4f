// Connectionist temporal classification.
#include <fulgurite/ctc_loss.h>

#include <cmath>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::nn {

namespace {

// The logarithm of an impossible alignment's probability. A finite one keeps NaN out of the gradients.
constexpr double impossible = -1e30;

void fail(const std::string& message, SourceLocation at) { throw UserError("ctc_loss: " + message, at); }

void check_integers(const Tensor& tensor, const char* name, SourceLocation at) {
  if (!tensor.defined()) fail(text::cat(name, " is an undefined tensor"), at);
  if (!is_integer(tensor.dtype())) fail(text::cat(name, " must hold integers, not ", type_text(tensor)), at);
}

/// Lengths that exist can be looked at; in a trace they cannot.
void check_lengths(const Tensor& lengths, Int largest, const char* name, SourceLocation at) {
  if (innermost_interpreter() || lengths.numel() == 0) return;
  const auto low = amin(lengths, {}, false, at).item<int64_t>(), high = amax(lengths, {}, false, at).item<int64_t>();
  if (low < 0 || high > largest.hint())
    fail(text::cat(name, " must be from 0 to ", largest, ", not ", low < 0 ? low : high), at);
}

/// One loss's arguments in the shapes of a batch.
struct Batch {
  Tensor log_probs;                      // [steps, batch, labels]
  Tensor targets;                        // [batch, length], blank behind a target's end
  Tensor input_lengths, target_lengths;  // [batch]
};

/// Targets one behind the other, as rows.
Tensor rows_of(const Tensor& targets, const Tensor& lengths, SourceLocation at) {
  const Tensor ends = cumsum(lengths, 0, {}, at);
  const int64_t total = ends.numel() == 0 ? 0 : ends(-1).item<int64_t>(at);
  if (total != targets.numel())
    fail(text::cat("the target lengths sum to ", total, ", the vector of targets has ", targets.numel()), at);
  const int64_t longest = total == 0 ? 0 : amax(lengths, {}, false, at).item<int64_t>();
  const Tensor starts = unsqueeze(sub(ends, lengths, 1, at), 1, at);
  const Tensor positions = add(starts, arange(longest, {}, at), 1, at);
  const Tensor inside = clamp_max(positions, total - 1, at);
  return longest == 0 ? reshape(targets, {lengths.size(0), 0}, at) : take(targets, inside, at);
}

void check_shapes(const Tensor& log_probs, const Tensor& targets, const CTCLossOptions& o, SourceLocation at) {
  if (!log_probs.defined() || !is_floating(log_probs.dtype()) || (log_probs.dim() != 2 && log_probs.dim() != 3))
    fail("log_probs must be floating, [steps, batch, labels] or [steps, labels]", at);
  if (log_probs.size(0) < 1) fail("log_probs must have at least one step", at);
  check_integers(targets, "targets", at);
  if (targets.dim() != 1 && (targets.dim() != 2 || log_probs.dim() == 2))
    fail(text::cat("targets must be [batch, length], or a vector, not ", type_text(targets)), at);
  const Int labels = log_probs.size(-1);
  if (o.blank < 0 || o.blank >= labels.hint())
    fail(text::cat("blank must be one of the ", labels, " labels, not ", o.blank), at);
  if (o.reduction != "none" && o.reduction != "mean" && o.reduction != "sum")
    fail(text::cat("reduction must be \"mean\", \"sum\" or \"none\", not \"", o.reduction, "\""), at);
}

Tensor length_vector(const Tensor& lengths, Int batch, const char* name, SourceLocation at) {
  check_integers(lengths, name, at);
  if (lengths.dim() > 1 || lengths.numel() != batch)
    fail(text::cat(name, " must have one length for each of ", batch, " sequences, not ", type_text(lengths)), at);
  return reshape(lengths.to(Dtype::i64, at), {batch}, at);
}

Batch batch_of(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
               const Tensor& target_lengths, const CTCLossOptions& o, SourceLocation at) {
  check_shapes(log_probs, targets, o, at);
  Batch b;
  b.log_probs = log_probs.dim() == 2 ? unsqueeze(log_probs, 1, at) : log_probs;
  if (size_of(b.log_probs.dtype()) == 2) b.log_probs = b.log_probs.to(Dtype::f32, at);
  const Int batch = b.log_probs.size(1);
  b.input_lengths = length_vector(input_lengths, batch, "input_lengths", at);
  b.target_lengths = length_vector(target_lengths, batch, "target_lengths", at);
  if (targets.dim() == 2 && targets.size(0) != batch)
    fail(text::cat("there are ", targets.size(0), " targets and ", batch, " sequences"), at);
  check_lengths(b.input_lengths, log_probs.size(0), "input_lengths", at);
  check_lengths(b.target_lengths, targets.dim() == 2 ? targets.size(1) : targets.numel(), "target_lengths", at);
  const Tensor rows = targets.dim() == 2 ? targets : rows_of(targets, b.target_lengths, at);
  const Tensor positions = arange(rows.size(1), {}, at), ends = unsqueeze(b.target_lengths, 1, at);
  const Tensor is_inside = lt(positions, ends, at);
  b.targets = where(is_inside, rows.to(Dtype::i64, at), o.blank, at);
  return b;
}

/// Blank, first label, blank, …, last label, blank: [batch, 2 length + 1].
Tensor with_blanks(const Tensor& targets, int64_t blank, SourceLocation at) {
  const Int batch = targets.size(0), length = targets.size(1);
  const Tensor pairs = stack({full_like(targets, blank, {}, at), targets}, 2, at);
  const Tensor last = full({batch, 1}, blank, {.dtype = Dtype::i64}, at);
  return cat({reshape(pairs, {batch, length * 2}, at), last}, 1, at);
}

/// The log-probability of all alignments that end, after one more step, at each label of a target.
Tensor advance(const Tensor& alpha, const Tensor& emitted, const Tensor& may_skip, SourceLocation at) {
  const Int width = alpha.size(1);
  const Tensor padded = constant_pad_nd(alpha, {2, 0}, impossible, at);
  const Tensor from_last = narrow(padded, 1, 1, width, at), skipped = narrow(padded, 1, 0, width, at);
  const Tensor from_before = where(may_skip, skipped, impossible, at);
  const Tensor reached = logsumexp(stack({alpha, from_last, from_before}, 0, at), {0}, false, at);
  return add(reached, emitted, 1, at);
}

/// The state after each sequence's last step, [batch, 2 length + 1].
Tensor last_alpha(const Batch& b, const Tensor& labels, SourceLocation at) {
  const Int steps = b.log_probs.size(0), batch = labels.size(0), width = labels.size(1);
  const Tensor index = expand(unsqueeze(labels, 0, at), {steps, batch, width}, at);
  const Tensor emitted = clamp_min(gather(b.log_probs, 2, index, at), impossible, at);
  const Tensor two_before = narrow(constant_pad_nd(labels, {2, 0}, -1, at), 1, 0, width, at);
  const Tensor is_new = ne(labels, two_before, at), positions = arange(width, {}, at);
  const Tensor may_skip = logical_and(is_new, ge(positions, 2, at), at);
  const Tensor steps_left = gt(b.input_lengths, unsqueeze(arange(steps, {}, at), 1, at), at);
  const auto emissions = unbind(emitted, 0, at), active = unbind(unsqueeze(steps_left, 2, at), 0, at);
  const Tensor is_start = lt(positions, 2, at);
  // Without a step there is one alignment: that of an empty target.
  const Tensor is_first = eq(positions, 0, at), certain = zeros_like(emissions[0], {}, at);
  const Tensor nothing = where(is_first, certain, impossible, at);
  Tensor alpha = where(active[0], where(is_start, emissions[0], impossible, at), nothing, at);
  for (size_t t = 1; t < emissions.size(); ++t)
    alpha = where(active[t], advance(alpha, emissions[t], may_skip, at), alpha, at);
  return alpha;
}

Tensor losses_of(const Batch& b, const CTCLossOptions& o, SourceLocation at) {
  const Tensor alpha = last_alpha(b, with_blanks(b.targets, o.blank, at), at);
  const Tensor last = unsqueeze(mul(b.target_lengths, 2, at), 1, at);
  const Tensor before = clamp_min(sub(last, 1, 1, at), 0, at);
  const Tensor at_blank = gather(alpha, 1, last, at), at_label = gather(alpha, 1, before, at);
  const Tensor is_empty = eq(last, 0, at);
  const Tensor ends = cat({at_blank, where(is_empty, impossible, at_label, at)}, 1, at);
  const Tensor loss = neg(logsumexp(ends, {1}, false, at), at);
  // PyTorch's gradient has exp(log_probs), which log_softmax's backward removes.
  const Tensor steps = unsqueeze(arange(b.log_probs.size(0), {}, at), 1, at);
  const Tensor is_read = unsqueeze(lt(steps, b.input_lengths, at), 2, at);
  const Tensor mass = sum(where(is_read, exp(b.log_probs, at), 0.0, at), {0, 2}, false, {}, at);
  const Tensor nothing = sub(mass, mass.detach(at), 1, at);
  const Tensor is_possible = lt(loss, -impossible / 2, at);
  return where(is_possible, add(loss, nothing, 1, at), o.zero_infinity ? 0.0 : INFINITY, at);
}

}  // namespace

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CTCLossOptions& o, SourceLocation at) {
  const Batch batch = batch_of(log_probs, targets, input_lengths, target_lengths, o, at);
  const Tensor losses = losses_of(batch, o, at);
  if (o.reduction == "sum") return sum(losses, {}, false, {}, at).to(log_probs.dtype(), at);
  if (o.reduction == "none")
    return (log_probs.dim() == 2 ? squeeze(losses, {0}, at) : losses).to(log_probs.dtype(), at);
  const Tensor shares = div(losses, clamp_min(batch.target_lengths, 1, at), {}, at);
  return mean(shares, {}, false, {}, at).to(log_probs.dtype(), at);
}

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const std::vector<int64_t>& input_lengths,
                const std::vector<int64_t>& target_lengths, const CTCLossOptions& o, SourceLocation at) {
  const Tensor inputs = tensor(input_lengths, {}, at), lengths = tensor(target_lengths, {}, at);
  return ctc_loss(log_probs, targets, inputs, lengths, o, at);
}

Tensor CTCLoss::operator()(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                           const Tensor& target_lengths, SourceLocation at) const {
  return ctc_loss(log_probs, targets, input_lengths, target_lengths, options, at);
}

Tensor CTCLoss::operator()(const Tensor& log_probs, const Tensor& targets, const std::vector<int64_t>& input_lengths,
                           const std::vector<int64_t>& target_lengths, SourceLocation at) const {
  return ctc_loss(log_probs, targets, input_lengths, target_lengths, options, at);
}

}  // namespace fulgurite::nn
