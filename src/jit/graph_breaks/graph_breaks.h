#pragma once
#include <memory>
#include <string>
#include <vector>

#include "jit/jit_state.h"
#include "tracing/subgraph.h"

namespace fulgurite::detail {

/// One call of a function with graph breaks: its subgraphs are looked up by their structure, compiled when they are
/// new, and run.
class CallWithBreaks final : public SubgraphRunner {
 public:
  /// `turn`, where there is one, ends with the first piece: the body may then wait for other threads.
  CallWithBreaks(JitState& state, const FlatArguments& flat, const std::vector<LeafPath>& paths, SourceLocation at,
                 SingleFlight::Flight* flight = nullptr)
      : state_(state), flat_(flat), paths_(paths), at_(at), flight_(flight) {}

  void note_break(const std::string& what, SourceLocation) override;
  std::vector<Tensor> run(Subgraph) override;
  Tensor alias_of(const Tensor&) override;

  const Subgraphs& subgraphs() const { return subgraphs_; }
  const std::vector<std::string>& breaks() const { return breaks_; }

 private:
  void check_writes_only_arguments(const Recording&) const;

  JitState& state_;
  const FlatArguments& flat_;
  const std::vector<LeafPath>& paths_;
  SourceLocation at_;
  SingleFlight::Flight* flight_;
  Subgraphs subgraphs_;
  std::vector<std::string> breaks_;    // in words
  SourceLocation start_, last_break_;  // where the subgraph that ends, and the next one, begin
  bool ends_at_break_ = false;
};

}  // namespace fulgurite::detail
