#pragma once
#include <string>

#include <fulgurite/trace.h>

namespace fulgurite::cli {

/// Forward and backward side by side: each op of the forward, and indented below it the ops of the backward that serve
/// it. With a `name`, a result (t7) or an operator (torch.matmul, matmul), only those forward ops; "" if there is none.
///
///   t0 = torch.matmul(t_0, t_w)
///       t5 = torch.matmul(t4, t3)
std::string side_by_side(const Trace& forward, const Trace& backward, const std::string& name, bool python);

}  // namespace fulgurite::cli
