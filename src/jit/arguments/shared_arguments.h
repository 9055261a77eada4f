#pragma once
#include <vector>

#include "jit/recording.h"

namespace fulgurite::detail {

/// For each tensor leaf a contiguous one that contains its memory; -1: an input of its own.
using Containers = std::vector<int>;
Containers find_containers(const RecordRequest&);
/// A tensor leaf as a view of the one that contains its memory, represented by `container`.
Tensor view_of_container(const Tensor& container, const Tensor& containing, const Tensor& contained, SourceLocation at);

/// A tensor's memory: its storage, or the value of an outer recording that it is a view of.
const void* memory_of(const Tensor&);
/// Returns true if two tensors that are not the same share memory.
bool share_memory(const FlatArguments&);
/// Returns true if an argument is written that shares memory with another.
bool writes_into_shared(const Recording&, const FlatArguments&);

}  // namespace fulgurite::detail
