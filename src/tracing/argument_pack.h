#pragma once
#include <functional>
#include <memory>
#include <vector>

#include <fulgurite/trace.h>

#include "ops/core/argument.h"

namespace fulgurite {

struct Parameter;

/// A bound symbol's arguments as an operator call receives them, in the order of its signature. Owns the arguments'
/// storage.
class ArgumentPack {
 public:
  /// Maps a proxy to its tensor: a tensor handle for a tensor proxy.
  class Resolver {
   public:
    virtual ~Resolver() = default;
    virtual Tensor tensor(const detail::Ref<TensorProxy>&) = 0;
    virtual Int integer(Int symbol) { return symbol; }
    virtual Float floating(Float symbol) { return symbol; }
    virtual Bool boolean(Bool symbol) { return symbol; }
  };
  ArgumentPack(const BoundSymbol&, Resolver&);
  ArgumentPack(const ArgumentPack&) = delete;
  ArgumentPack& operator=(const ArgumentPack&) = delete;
  Arguments arguments() const { return {arguments_.data(), arguments_.size()}; }

 private:
  Argument convert(const Value&, Resolver&, const Parameter*);

  SmallVector<Argument, 10> arguments_;
  // Stable addresses: an argument points into these.
  std::vector<std::unique_ptr<Tensor[]>> tensors_;
  std::vector<std::unique_ptr<Int[]>> integers_;
  std::vector<std::unique_ptr<Argument[]>> lists_;
  std::vector<std::unique_ptr<Slice>> slices_;
};

}  // namespace fulgurite
