#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fulgurite::json {

struct Member;

/// A parsed JSON value.
struct Node {
  enum class Kind : uint8_t { null, boolean, integer, floating, string, array, object };
  Kind kind = Kind::null;
  bool boolean = false;
  int64_t integer = 0;
  double floating = 0;  // also set for integers
  std::string string;
  std::vector<Node> items;
  std::vector<Member> members;

  bool is(Kind k) const { return kind == k; }
  bool is_number() const { return kind == Kind::integer || kind == Kind::floating; }
  /// Returns a member of an object; null if there is none.
  const Node* find(std::string_view name) const;
  /// Returns a member of an object of this kind (an integer also serves as floating); throws UserError naming it
  /// otherwise.
  const Node& at(std::string_view name, Kind kind) const;
};
struct Member {
  std::string name;
  Node value;
};

/// Throws UserError, one line with the position where the text stops being JSON. A name that occurs twice in an object,
/// a byte order mark and bytes after the value are errors too. Time and memory are linear in the text's length.
Node parse(std::string_view text);
/// Parses a text that must be an object, and calls `visit` with each member as soon as it is complete, so that only one
/// is in memory. Duplicate names of the outermost object are not detected.
void for_each_member(std::string_view text, const std::function<void(Member&&)>& visit);
/// Returns a JSON string with its quotes.
std::string quote(std::string_view text);
/// The shortest number that reads back equal; null for NaN and infinities, which JSON lacks.
std::string number(double value);
/// The JSON of a value, with a line for each member of an object, indented by two spaces beyond `indent`.
std::string print(const Node& node, int indent = 0);

}  // namespace fulgurite::json
