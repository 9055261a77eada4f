#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace fulgurite::generation {

/// Guesses the tokens that follow a text: those that followed the latest earlier occurrence of its last tokens, of as
/// many as possible, at most `max_ngram`. Returns at most `count` tokens, none if the last token occurs once.
///
/// Example: after 5 6 7 8 5 6, two tokens are 7 8.
std::vector<int64_t> look_up(std::span<const int64_t> tokens, int64_t max_ngram, int64_t count);

}  // namespace fulgurite::generation
