#pragma once
#include <functional>
#include <string>
#include <vector>

#include <fulgurite/trace.h>

namespace fulgurite {

/// Runs passes one after another, each on the newest stage: times them, sets their provenance, verifies on request,
/// retains every stage.
class PassRunner {
 public:
  PassRunner(std::vector<Trace>& stages, bool check) : stages_(stages), check_(check) {}
  /// The pass's result, now the newest stage. `title` is shown in the provenance line: "Dead Code Elimination". A pass
  /// that starts a list of stages receives an empty trace.
  const Trace& run(const std::string& title, const std::function<Trace(const Trace&)>& pass);

 private:
  std::vector<Trace>& stages_;
  bool check_;
};

}  // namespace fulgurite
