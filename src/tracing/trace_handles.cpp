#include "tracing/trace_handles.h"

#include <map>
#include <mutex>

#include "ops/core/rules.h"
#include "support/context.h"
#include "support/text/base_name.h"
#include "support/text/text.h"

namespace fulgurite {

class TraceHandles::Living {
 public:
  static void add(const std::shared_ptr<Living>&, TensorImpl&);
  std::vector<Tensor> all() const {
    const std::lock_guard lock(mutex_);
    std::vector<Tensor> handles;
    for (const auto& [number, impl] : handles_) handles.emplace_back(TensorImplRef(impl));
    return handles;
  }

 private:
  class Membership;
  mutable std::mutex mutex_;  // a handle may be let go by another thread, when the recording is long over
  std::map<uint64_t, TensorImpl*> handles_;
  uint64_t next_ = 0;
};

/// Occupies the autograd metadata of a tensor without memory: it is removed when the handle is destroyed or
/// materialized.
class TraceHandles::Living::Membership final : public AutogradMeta {
 public:
  Membership(std::shared_ptr<Living> handles, uint64_t number) : handles_(std::move(handles)), number_(number) {}
  ~Membership() override {
    const std::lock_guard lock(handles_->mutex_);
    handles_->handles_.erase(number_);
  }

 private:
  std::shared_ptr<Living> handles_;
  uint64_t number_;
};

void TraceHandles::Living::add(const std::shared_ptr<Living>& handles, TensorImpl& impl) {
  const std::lock_guard lock(handles->mutex_);
  const uint64_t number = handles->next_++;
  handles->handles_.emplace(number, &impl);
  impl.autograd = std::make_unique<Membership>(handles, number);
}

void TraceHandles::begin_trace() { serial_ = context().tracers.fetch_add(1, std::memory_order_relaxed); }

Tensor TraceHandles::make(const detail::Ref<TensorProxy>& value, SourceLocation at) {
  Tensor handle = make_proxy_tensor(value, serial_, at);
  if (living_) Living::add(living_, *handle.impl());
  return handle;
}

void TraceHandles::list_living() { living_ = std::make_shared<Living>(); }

std::vector<Tensor> TraceHandles::living() const { return living_->all(); }

namespace {

std::string where(SourceLocation at) {
  return at.line == 0 ? "" : text::cat(" (made at ", text::base_name(at.file), ":", at.line, ")");
}

}  // namespace

void refuse_stray_proxy(const Tensor& tensor) {
  throw RuleError{text::cat("tensor ", tensor.impl()->proxy->name,
                            " belongs to a trace that has ended or to another thread's", where(tensor.impl()->born),
                            "; return it from the traced function instead of keeping it")};
}

}  // namespace fulgurite
