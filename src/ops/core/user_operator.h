#pragma once
#include <functional>
#include <memory>
#include <string>

#include <fulgurite/extend.h>

#include "ops/core/dispatch.h"

namespace fulgurite {

struct Executor;

namespace detail {
/// See include/fulgurite/detail/operator_function.h.
struct OperatorCall {
  Arguments arguments;
  SourceLocation at;
  Results* results = nullptr;
  std::vector<SavedValue>* saved = nullptr;
  bool answer = false;
};
}  // namespace detail

/// An operator that was registered while the program runs. Never destroyed: traces and handles point to it.
struct UserOperator : Symbol {
  UserOperator(std::unique_ptr<const std::string> text, const Signature&);

  std::unique_ptr<const std::string> text, description, python_text;
  std::function<void(Arguments, SourceLocation, Results&)> run;
  std::function<bool(Arguments)> accepts;
  std::function<void(Arguments, InferredTypes&)> result_types;
  std::shared_ptr<const Executor> owner;  // runs it, and has its gradient rule, where no executor in the list does
};

/// Null for the operators that the library declares.
const UserOperator* as_user_operator(const Symbol&);
/// Makes the operator one of symbols(). Throws UserError when its name is taken. Thread-safe.
const Symbol& add_user_operator(std::unique_ptr<UserOperator>, SourceLocation);
/// The types of what `run` gives, looked at without computing anything: operators called in it give shapes and dtypes alone.
void infer_from_function(const std::function<void(Results&)>& run, InferredTypes&);
/// By its full name; null when there is none.
const Symbol* find_user_operator(std::string_view qualified_name);

}  // namespace fulgurite
