#pragma once
#include "io/json.h"
#include "tokenizer/pattern.h"

namespace fulgurite::tokenization {

/// The pattern of {"String": …} or {"Regex": …}.
Pattern read_pattern(const json::Node& component);

}  // namespace fulgurite::tokenization
