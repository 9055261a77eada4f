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

/// An operator registered at run time. Never destroyed: traces and handles point to it.
struct UserOperator : Symbol {
  UserOperator(std::unique_ptr<const std::string> text, const Signature&);

  std::unique_ptr<const std::string> text, description, python_text;
  std::function<void(Arguments, SourceLocation, Results&)> run;
  std::function<bool(Arguments)> accepts;
  std::function<void(Arguments, InferredTypes&)> result_types;
  std::shared_ptr<const Executor> owner;  // runs it and has its gradient rule, unless an executor in the list does
};

/// Null for operators declared by the library.
const UserOperator* as_user_operator(const Symbol&);
/// Adds the operator to symbols(). Throws UserError if its name is taken. Thread-safe.
const Symbol& add_user_operator(std::unique_ptr<UserOperator>, SourceLocation);
/// Infers the result types of `run` without computing: operators called in it return only shapes and dtypes.
void infer_from_function(const std::function<void(Results&)>& run, InferredTypes&);
/// Finds an operator by its full name; null if there is none.
const Symbol* find_user_operator(std::string_view qualified_name);

}  // namespace fulgurite
