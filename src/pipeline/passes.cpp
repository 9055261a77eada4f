#include <fulgurite/passes.h>

#include <algorithm>
#include <iterator>

#include <fulgurite/error.h>

#include "pipeline/pass_list.h"
#include "support/text/text.h"

namespace fulgurite {

namespace detail {

std::shared_ptr<const PassList> library_passes() {
  return std::make_shared<const PassList>(PassList{{
      {"canonical_order", true},
      {"keep_results", true},
      {"dce"},
      {"cse"},
      {"grad", true},
      {"transforms", true},
      {"recomputation"},
      {"split", true},
      {"backward_cse"},
      {"choose_executors", true},
      {"multiply_codes"},
      {"join_products"},
      {"claims", true},
      {"fold_scatter_add"},
      {"fusion", true},
      {"execution_dce"},
      {"schedule_updates_early"},
      {"delete_last_used", true},
  }});
}

}  // namespace detail

namespace {

using detail::NamedPass;
using detail::PassList;
using List = std::vector<NamedPass>;

List::iterator find(List& list, std::string_view name, SourceLocation at) {
  const auto found = std::ranges::find(list, name, &NamedPass::name);
  if (found == list.end())
    throw UserError(text::cat("unknown pass \"", name, "\"; the passes are ",
                              text::join(list, [](const NamedPass& pass) { return pass.name; })),
                    at);
  return found;
}

NamedPass added(List& list, std::string_view name, Transform pass, SourceLocation at) {
  if (name.empty()) throw UserError("a pass needs a name", at);
  if (!pass) throw UserError(text::cat("the pass \"", name, "\" has no function"), at);
  if (std::ranges::find(list, name, &NamedPass::name) != list.end())
    throw UserError(text::cat("there is a pass \"", name, "\" already"), at);
  return {std::string(name), false, std::move(pass)};
}

void check_not_first(const NamedPass& other, SourceLocation at) {
  if (other.name == "canonical_order")
    throw UserError("\"canonical_order\" is the first pass: nothing can run before it", at);
}
void check_not_last(const NamedPass& other, SourceLocation at) {
  if (other.name == "delete_last_used")
    throw UserError("\"delete_last_used\" is the last pass: nothing can run after it", at);
}

// A pass of the library relies on what the required passes before it have made of the trace.
void check_move(List::iterator from, List::iterator to, SourceLocation at) {
  if (from->is_required) throw UserError(text::cat("the pass \"", from->name, "\" cannot be moved"), at);
  if (from->transform) return;
  const auto crossed =
      std::find_if(std::min(from, to), std::max(from, to), [&](const NamedPass& pass) { return pass.is_required; });
  if (crossed != std::max(from, to))
    throw UserError(text::cat("the pass \"", from->name, "\" cannot be moved across \"", crossed->name, "\""), at);
}

}  // namespace

Passes::Passes() : list_(detail::library_passes()) {}

std::vector<std::string> Passes::names() const {
  std::vector<std::string> out;
  for (const NamedPass& pass : list_->passes) out.push_back(pass.name);
  return out;
}

Passes& Passes::insert_before(std::string_view other, std::string_view name, Transform pass, SourceLocation at) {
  List list = list_->passes;
  NamedPass made = added(list, name, std::move(pass), at);
  const auto found = find(list, other, at);
  check_not_first(*found, at);
  list.insert(found, std::move(made));
  list_ = std::make_shared<const PassList>(PassList{std::move(list)});
  return *this;
}

Passes& Passes::insert_after(std::string_view other, std::string_view name, Transform pass, SourceLocation at) {
  List list = list_->passes;
  NamedPass made = added(list, name, std::move(pass), at);
  const auto found = find(list, other, at);
  check_not_last(*found, at);
  list.insert(std::next(found), std::move(made));
  list_ = std::make_shared<const PassList>(PassList{std::move(list)});
  return *this;
}

Passes& Passes::remove(std::string_view name, SourceLocation at) {
  List list = list_->passes;
  const auto found = find(list, name, at);
  if (found->is_required)
    throw UserError(text::cat("the pass \"", name, "\" cannot be removed: programs cannot be made without it"), at);
  list.erase(found);
  list_ = std::make_shared<const PassList>(PassList{std::move(list)});
  return *this;
}

Passes& Passes::move_before(std::string_view name, std::string_view other, SourceLocation at) {
  List list = list_->passes;
  const auto from = find(list, name, at), to = find(list, other, at);
  check_not_first(*to, at);
  check_move(from, to, at);
  if (from < to) std::rotate(from, std::next(from), to);
  else std::rotate(to, from, std::next(from));
  list_ = std::make_shared<const PassList>(PassList{std::move(list)});
  return *this;
}

}  // namespace fulgurite
