#pragma once
#include <shared_mutex>
#include <unordered_map>

#include "executors/registry.h"
#include "ops/core/user_operator.h"

namespace fulgurite::detail {

/// Makes a user-supplied function's results owned: copies those that are not contiguous and uniquely owned.
void own_results(Results&);

/// An executor made of user-supplied functions. Lives as long as its registrations: for ever if one is an operator.
/// Thread-safe: results of find() and find_rule() do not change.
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

  mutable std::shared_mutex mutex_;  // guards the members below
  std::unordered_map<const Symbol*, std::unique_ptr<const Entry>> entries_;
  std::unordered_map<const Symbol*, Pair> pairs_;
};

}  // namespace fulgurite::detail
