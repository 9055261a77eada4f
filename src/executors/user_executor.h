#pragma once
#include <shared_mutex>
#include <unordered_map>

#include "executors/registry.h"
#include "ops/core/user_operator.h"

namespace fulgurite::detail {

/// What a user's function gave as results of a call: copies where it is not contiguous memory that nobody else holds.
void own_results(Results&);

/// An executor made of a user's functions. Lives as long as what was registered with it: for ever, where that is an operator.
/// Thread-safe: what find() and find_rule() gave stays as it is.
class UserExecutor final : public Executor, public std::enable_shared_from_this<UserExecutor> {
 public:
  explicit UserExecutor(std::string name);
  UserExecutor(const UserExecutor&) = delete;
  UserExecutor& operator=(const UserExecutor&) = delete;

  void add(const Symbol&, UserImplementation, std::shared_ptr<const JointRule> grad_transform, SourceLocation);
  void forget(const Symbol&);
  void add_augmented_forward(const Symbol&, AugmentedForwardFunction, SourceLocation);
  void add_backward(const Symbol&, BackwardFunction, SourceLocation);

 private:
  struct Entry {
    UserImplementation user;
    Implementation implementation;
    std::shared_ptr<const JointRule> grad_transform;
  };
  struct Pair {
    AugmentedForwardFunction forward;
    BackwardFunction backward;
    std::shared_ptr<const JointRule> rule;  // once both are there
  };
  const Implementation* implementation_of(const Symbol&) const;
  std::shared_ptr<const JointRule> rule_of(const Symbol&) const;
  void complete(Pair&);

  mutable std::shared_mutex mutex_;  // guards what follows
  std::unordered_map<const Symbol*, std::unique_ptr<const Entry>> entries_;
  std::unordered_map<const Symbol*, Pair> pairs_;
};

}  // namespace fulgurite::detail
