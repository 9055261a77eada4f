#pragma once
#include <memory>
#include <vector>

#include <fulgurite/trace.h>

#include "executors/registry.h"
#include "pipeline/pass_list.h"
#include "pipeline/pipeline.h"

namespace fulgurite {

/// The named passes, in order.
std::shared_ptr<const detail::PassList> passes_of(const PipelineOptions&);

/// The executors to use for `trace`, without fusing executors that cannot be profitable for it.
std::vector<const Executor*> profitable_executors(std::vector<const Executor*>, const Trace& trace,
                                                  const PipelineOptions&);

/// Lowers the last stage, a differentiated or plain trace, to an executable trace: the passes after "choose_executors".
void lower_to_execution(std::vector<Trace>& stages, std::vector<const Executor*>, FusionNames&, const PipelineOptions&,
                        bool is_symbolic);

}  // namespace fulgurite
