#pragma once

namespace fulgurite::tokenization {

// Code points that Unicode has put into a category since the version of the tables that the Rust library `tokenizers`
// has for it (Unicode 8 for most): there they are in no category. Found by trying all of them.

bool is_later_punctuation(char32_t c);
bool is_later_nonspacing_mark(char32_t c);
bool is_later_mark(char32_t c);
bool is_later_control(char32_t c);
/// A code point that is not decomposed, and not composed.
bool has_later_decomposition(char32_t c);

}  // namespace fulgurite::tokenization
