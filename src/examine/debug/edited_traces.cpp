#include <fulgurite/edit.h>

#include <dlfcn.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include <fulgurite/autograd_modes.h>
#include <fulgurite/error.h>

#include "codegen/host_compiler/compiler_process.h"
#include "codegen/host_compiler/host_compiler.h"
#include "codegen/host_compiler/library_cache.h"
#include "examine/debug/slice_inputs.h"
#include "examine/fusions/find_fusion.h"
#include "ir/analysis/trace_values.h"
#include "jit/jit_state.h"
#include "ops/core/dispatch.h"
#include "support/text/text.h"

namespace fulgurite::examine {

namespace {

using EditedFunction = void (*)(const std::vector<Tensor>& inputs, std::vector<Tensor>& results);

[[noreturn]] void fail(const std::string& what) { throw UserError(text::cat("with_edited: ", what)); }

/// A scalar that a forward passes to its backward, as a constant.
std::string number_text(const Value& value) {
  if (value.is_proxy())
    fail("a trace with numbers that are symbols cannot be edited; jit the function without Cache::symbolic_values");
  if (value.is_bool()) return text::cat("SavedNumber(Bool(", value.boolean().hint() ? "true" : "false", "))");
  if (value.is_float()) return text::cat("SavedNumber(Float(", value.floating().hint(), "))");
  return text::cat("SavedNumber(Int(", value.integer().hint(), "))");
}

/// The arguments of a call of the printed function, from a list `in` of the trace's inputs.
class CallText {
 public:
  explicit CallText(const Trace& trace) {
    for (const Value& arg : trace.args) text_ += text::cat(text_.empty() ? "" : ", ", argument(arg));
  }
  const std::string& text() const { return text_; }

 private:
  std::string argument(const Value& value) {
    if (value.is_collection() && value.collection_name() == "saved_for_backward") {
      const std::vector<Value>& parts = value.list();
      const std::string tensors = list(parts.at(0)), numbers = parts.size() > 1 ? list(parts[1]) : "{}";
      return text::cat("SavedForBackward{", tensors, ", ", numbers, "}");
    }
    if (value.is_collection() || value.is_list()) return text::cat("std::vector<Tensor>", list(value));
    const std::string place = text::cat("in[", next_++, "]");
    return value.is_tensor() ? place : value.is_none() ? "Tensor()" : number_text(value);
  }
  std::string list(const Value& values) {
    return text::cat("{", text::join(values.list(), [&](const Value& value) { return argument(value); }), "}");
  }
  int next_ = 0;
  std::string text_;
};

std::string program_text(const std::string& edited, const Trace& trace) {
  const BoundSymbol& last = trace.bound_symbols.read().back();
  const bool gives_nothing = last.args.empty() && last.kwargs.empty();
  const std::string call = text::cat(trace.name, "(", CallText(trace).text(), ")");
  return text::cat(
      edited,
      "\n#include <fulgurite/edit.h>\nextern \"C\" __attribute__((visibility(\"default\"))) void fulgurite_edited(\n",
      "    const std::vector<Tensor>& in, std::vector<Tensor>& out) {\n  (void)in;\n  (void)out;\n  ",
      gives_nothing ? call : text::cat("examine::collect(", call, ", out)"), ";\n}\n");
}

// The headers beside the library, if it is installed.
std::vector<std::string> include_folders(const std::vector<std::string>& given) {
  std::vector<std::string> out = given;
  Dl_info library{};
  if (dladdr(reinterpret_cast<const void*>(&include_folders), &library) == 0 || library.dli_fname == nullptr)
    return out;
  std::error_code failure;
  std::filesystem::path folder = std::filesystem::canonical(library.dli_fname, failure).parent_path();
  for (int up = 0; up < 3 && !failure && folder.has_relative_path(); ++up, folder = folder.parent_path())
    if (std::filesystem::exists(folder / "include/fulgurite/edit.h", failure)) out.push_back(folder / "include");
  return out;
}

// Built in the private folder of compiled kernels, opened, and deleted.
EditedFunction build(const std::string& text, const std::string& what, const std::vector<std::string>& folders) {
  const codegen::HostCompiler compiler = codegen::find_host_compiler();
  if (compiler.path.empty()) fail("there is no g++ and no clang++; set FULGURITE_CXX");
  const codegen::LibraryCache cache(codegen::default_cache_folder());
  std::string problem;
  const std::string source = cache.new_file(".cpp", problem),
                    library = source.empty() ? "" : cache.new_file(".so", problem);
  if (library.empty()) fail(text::cat("there is no place to build in: ", problem));
  std::ofstream(source) << text;
  std::vector<std::string> command = {compiler.path, "-std=c++20",         "-O1", "-fPIC", "-shared",
                                      "-w",          "-fvisibility=hidden"};
  for (const std::string& folder : include_folders(folders)) command.push_back(text::cat("-I", folder));
  for (const std::string& word : {std::string("-x"), std::string("c++"), source, std::string("-o"), library})
    command.push_back(word);
  const codegen::ProcessResult result = codegen::run_process(command, 300);
  unlink(source.c_str());
  const bool is_built = result.end == codegen::ProcessResult::End::exited && result.status == 0;
  void* const opened = is_built ? dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  const char* const error = is_built && !opened ? dlerror() : nullptr;
  unlink(library.c_str());
  if (!is_built) fail(text::cat(compiler.path, " refuses the edited ", what, ":\n", result.errors.substr(0, 3000)));
  if (!opened) fail(text::cat("the edited ", what, " cannot be loaded: ", error ? error : "no reason is given"));
  return reinterpret_cast<EditedFunction>(dlsym(opened, "fulgurite_edited"));
}

/// Runs an edited function instead of a program.
class EditedRun final : public ProgramRunner {
 public:
  EditedRun(EditedFunction function, const Trace& trace)
      : function_(function), name_(trace.name), results_(returned_values(trace)) {}
  void run(std::span<const Tensor> inputs, std::vector<Tensor>& results) const override {
    const InterpreterScope eager(nullptr);
    const NoGrad no_grad;
    std::vector<Tensor> made;
    function_({inputs.begin(), inputs.end()}, made);
    results.clear();
    size_t next = 0;
    for (const Value& wanted : results_) {
      const bool is_number = wanted.is_int() || wanted.is_float() || wanted.is_bool();
      Tensor& result = results.emplace_back();
      if (is_number || next == made.size()) continue;
      result = made[next++];
      if (!wanted.is_tensor() || (result.defined() && type_text(result) == wanted.tensor().type_text())) continue;
      fail(text::cat("result ", results.size() - 1, " of the edited ", name_, " is ",
                     result.defined() ? type_text(result) : "nothing", ", not ", wanted.tensor().type_text()));
    }
    if (next != made.size()) fail(text::cat("the edited ", name_, " gives ", made.size(), " tensors, not ", next));
  }

 private:
  const EditedFunction function_;
  const std::string name_;
  const std::vector<Value> results_;
};

/// The types of a trace's inputs.
std::string types_of(const Trace& trace) {
  std::string out = trace.tags.has(Tag::backward)            ? "backward"
                    : trace.tags.has(Tag::augmented_forward) ? "augmented"
                                                             : "plain";
  for (const Value& input : input_values(trace))
    out += text::cat(" ", input.is_tensor() ? input.tensor().type_text() : "number");
  return out;
}

/// Chooses the runner of traces like those that were edited.
class Edits final : public ExecutionObserver {
 public:
  void add(const Trace& trace, EditedFunction function) { functions_.emplace_back(types_of(trace), function); }
  void after(const Trace&, const BoundSymbol&, std::span<const Tensor>, std::span<const Tensor>) const override {}
  std::shared_ptr<const ProgramRunner> runner(const Trace& trace) const override {
    for (const auto& [types, function] : functions_)
      if (types == types_of(trace)) return std::make_shared<EditedRun>(function, trace);
    return {};
  }

 private:
  std::vector<std::pair<std::string, EditedFunction>> functions_;
};

}  // namespace

std::shared_ptr<detail::JitState> state_with_edited(const Jitted& f, const EditedTraces& edited, SourceLocation at) {
  check_not_recording("with_edited");
  auto edits = std::make_shared<Edits>();
  const auto add = [&](const std::string& text, bool is_backward, const char* what) {
    if (text.empty()) return;
    std::vector<std::shared_ptr<const Program>> programs = programs_of_last_call(f, "with_edited");
    std::erase_if(programs,
                  [&](const auto& program) { return program->trace().tags.has(Tag::backward) != is_backward; });
    if (programs.empty()) fail(text::cat("the last call has run no ", what));
    if (programs.size() > 1) fail("the function has graph breaks, and so several traces");
    const Trace& trace = programs.front()->trace();
    edits->add(trace, build(program_text(text, trace), what, edited.include_folders));
  };
  add(edited.forward, false, "forward");
  add(edited.backward, true, "backward");
  const detail::JitState& state = *f.state();
  return std::make_shared<detail::JitState>(state.shared_callable(), state.options(), state.names_executors(),
                                            state.transforms(), state.open_scope(), at, std::move(edits));
}

}  // namespace fulgurite::examine
