#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fulgurite::tokenization {

using Roles = std::map<std::string, std::string, std::less<>>;

/// The special tokens of tokenizer_config.json by role, such as "eos_token"; empty if the folder does not have the
/// file.
Roles read_roles(const std::string& folder);
/// The source of chat_template.jinja, or "chat_template" of tokenizer_config.json: a text, or the one named "default"
/// of a list. Empty if there is none.
std::string read_chat_template(const std::string& folder);
/// "eos_token_id" of generation_config.json, or without this file of config.json; empty without either.
std::vector<int64_t> read_end_tokens(const std::string& folder);

}  // namespace fulgurite::tokenization
