#include "cli/serve/request_fields.h"

#include "cli/serve/api_error.h"
#include "support/text/similar_names.h"
#include "support/text/text.h"

namespace fulgurite::cli {

namespace {

using Kind = json::Node::Kind;

bool is_empty(const json::Node& value) {
  switch (value.kind) {
    case Kind::null: return true;
    case Kind::boolean: return !value.boolean;
    case Kind::integer:
    case Kind::floating: return value.floating == 0;
    case Kind::string: return value.string.empty();
    case Kind::array: return value.items.empty();
    case Kind::object: return value.members.empty();
  }
  return false;
}

}  // namespace

void refuse_field(std::string_view name, std::string_view problem) {
  throw ApiError(400, text::cat(name, " ", problem), std::string(name));
}

const json::Node* RequestFields::find(std::string_view name) {
  known_.emplace(name);
  const json::Node* const value = object_.find(name);
  return value && !value->is(Kind::null) ? value : nullptr;
}

std::optional<int64_t> RequestFields::integer(std::string_view name, int64_t low, int64_t high) {
  const json::Node* const value = find(name);
  if (!value) return std::nullopt;
  if (!value->is(Kind::integer)) refuse_field(name, "must be an integer");
  if (value->integer < low || value->integer > high)
    refuse_field(name, text::cat("must be between ", low, " and ", high, ", it is ", value->integer));
  return value->integer;
}

double RequestFields::number(std::string_view name, double low, double high, double otherwise) {
  const json::Node* const value = find(name);
  if (!value) return otherwise;
  if (!value->is_number()) refuse_field(name, "must be a number");
  if (value->floating < low || value->floating > high)
    refuse_field(name, text::cat("must be between ", low, " and ", high, ", it is ", value->floating));
  return value->floating;
}

bool RequestFields::boolean(std::string_view name, bool otherwise) {
  const json::Node* const value = find(name);
  if (!value) return otherwise;
  if (!value->is(Kind::boolean)) refuse_field(name, "must be true or false");
  return value->boolean;
}

std::string RequestFields::string(std::string_view name, std::string_view otherwise) {
  const json::Node* const value = find(name);
  if (!value) return std::string(otherwise);
  if (!value->is(Kind::string)) refuse_field(name, "must be a string");
  return value->string;
}

std::vector<std::string> RequestFields::strings(std::string_view name, size_t most) {
  const json::Node* const value = find(name);
  if (!value) return {};
  if (value->is(Kind::string)) return {value->string};
  if (!value->is(Kind::array)) refuse_field(name, "must be a string or a list of strings");
  if (value->items.size() > most) refuse_field(name, text::cat("has more than ", most, " strings"));
  std::vector<std::string> out;
  for (const json::Node& item : value->items) {
    if (!item.is(Kind::string)) refuse_field(name, "must be a string or a list of strings");
    out.push_back(item.string);
  }
  return out;
}

void RequestFields::refuse(std::initializer_list<std::string_view> names, std::string_view reason) {
  for (const std::string_view name : names)
    if (const json::Node* const value = find(name); value && !is_empty(*value)) refuse_field(name, reason);
}

void RequestFields::ignore(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) known_.emplace(name);
}

void RequestFields::finish() const {
  for (const json::Member& member : object_.members) {
    if (known_.count(member.name)) continue;
    std::vector<KnownName> names;
    for (const std::string& name : known_) names.push_back({name, name});
    throw ApiError(
        400,
        text::cat("the request has an unknown member, ", member.name, suggestion(similar_names(member.name, names))),
        member.name);
  }
}

}  // namespace fulgurite::cli
