#include "codegen/lowering/group_lowering.h"
#include "ops/generated/symbols.h"

namespace fulgurite::codegen {

namespace {

// Returns true if both shapes' dimensions can be joined to the same ones, each of which is one dimension of either
// shape.
bool are_groups(const Sizes& a, const Sizes& b) {
  size_t i = 0, j = 0;
  while (true) {
    while (i < a.size() && a[i] == 1) ++i;
    while (j < b.size() && b[j] == 1) ++j;
    if (i == a.size() || j == b.size()) return i == a.size() && j == b.size();
    int64_t left = a[i++], right = b[j++];
    const bool is_left_single = left >= right;
    while (left != right) {
      if (is_left_single ? j == b.size() : i == a.size()) return false;
      if (is_left_single) right *= b[j++];
      else left *= a[i++];
      if (is_left_single ? right > left || right == 0 : left > right || left == 0) return false;
    }
  }
}

}  // namespace

std::optional<Dimensions> grouped(const Sizes& sizes, const Dimensions& given, const Sizes& loop_sizes) {
  std::vector<int> single;  // the loop dimensions, in order
  for (const int bits : given)
    for (size_t d = 0; d < loop_sizes.size(); ++d)
      if (bits >> d & 1) single.push_back(static_cast<int>(d));
  Dimensions out;
  size_t next = 0;
  for (const int64_t size : sizes) {
    int bits = 0;
    for (int64_t count = 1; count != size || (size != 1 && bits == 0);) {
      if (next == single.size()) return std::nullopt;
      count *= loop_sizes[static_cast<size_t>(single[next])];
      bits |= 1 << single[next++];
      if (count > size) return std::nullopt;
    }
    out.push_back(bits);
  }
  if (next != single.size()) return std::nullopt;
  return out;
}

namespace {

// All ways to express sizes as joined neighbours among the loop dimensions, in order; stops after two.
void find_groupings(const Sizes& sizes, const Sizes& loop_sizes, size_t next, Dimensions& begun,
                    SmallVector<Dimensions, 2>& found) {
  if (begun.size() == sizes.size()) return found.push_back(begun);
  const int64_t size = sizes[begun.size()];
  for (size_t first = next; first < loop_sizes.size() && found.size() < 2 && size != 1; ++first) {
    int bits = 0;
    int64_t count = 1;
    size_t last = first;
    while (last < loop_sizes.size() && count != size && count < size) {
      count *= loop_sizes[last];
      bits |= 1 << last++;
    }
    if (count != size || bits == 0) continue;
    begun.push_back(bits);
    find_groupings(sizes, loop_sizes, last, begun, found);
    begun.pop_back();
  }
  if (size != 1) return;
  begun.push_back(0);
  find_groupings(sizes, loop_sizes, next, begun, found);
  begun.pop_back();
}

}  // namespace

std::optional<Dimensions> only_grouping(const Sizes& sizes, const Sizes& loop_sizes) {
  Dimensions begun;
  SmallVector<Dimensions, 2> found;
  find_groupings(sizes, loop_sizes, 0, begun, found);
  return found.size() == 1 ? std::optional(found[0]) : std::nullopt;
}

bool is_transparent_view(const BoundSymbol& bound) {
  const Semantics& semantics = bound.symbol->semantics;
  return semantics.broadcast || (semantics.keeps_order && are_groups(hinted_sizes(bound.args.at(0).tensor()),
                                                                     hinted_sizes(bound.outputs.at(0).tensor())));
}

std::optional<Dimensions> dimensions_after_view(const BoundSymbol& bound, const Dimensions& from,
                                                const std::optional<Dimensions>& aligned, const Sizes& loop_sizes) {
  const Sizes before = hinted_sizes(bound.args.at(0).tensor()), after = hinted_sizes(bound.outputs.at(0).tensor());
  if (!bound.symbol->semantics.broadcast) return grouped(after, from, loop_sizes);
  Dimensions to;
  const size_t added = after.size() - before.size();
  for (size_t d = 0; d < after.size(); ++d) {
    if (after[d] == 1) to.push_back(0);
    else if (d >= added && before[d - added] != 1) to.push_back(from[d - added]);
    else if (aligned) to.push_back((*aligned)[d]);
    else return std::nullopt;
  }
  return to;
}

std::optional<Dimensions> dimensions_before_view(const BoundSymbol& bound, const Dimensions& to,
                                                 const Sizes& loop_sizes) {
  const Sizes before = hinted_sizes(bound.args.at(0).tensor()), after = hinted_sizes(bound.outputs.at(0).tensor());
  if (!bound.symbol->semantics.broadcast) return grouped(before, to, loop_sizes);
  Dimensions from;
  const size_t added = after.size() - before.size();
  for (size_t d = 0; d < before.size(); ++d) from.push_back(before[d] == 1 ? 0 : to[d + added]);
  return from;
}

}  // namespace fulgurite::codegen
