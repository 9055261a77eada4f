#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "tokenizer/aligned_text.h"

namespace fulgurite::tokenization {

// GPT-2 writes bytes as printable characters: those of Latin-1 that are visible as themselves, the others from U+0100
// on.

/// The character of a byte.
char32_t character_of(unsigned char byte);
/// The bytes of a text of such characters; none if it has others.
std::optional<std::string> bytes_of(std::string_view characters);
/// The text with a character for each byte; each has the origin of its code point.
AlignedText to_byte_characters(const AlignedText& text, Arena& arena);
/// The text behind `content`, which has the origin of the first code point.
AlignedText prepend(const AlignedText& text, std::string_view content, Arena& arena);

}  // namespace fulgurite::tokenization
