#pragma once
#include <string>

#include <fulgurite/explorer.h>

namespace fulgurite::examine {

/// The data of the page, as one JSON object. Ops are in one table, in which an op that is the same in many stages
/// occurs once:
///
///   {"title", "library",
///    "files":   [[name, [line, …]], …]             the user's, by index
///    "sources": [[file, line], …]                  into them
///    "lines":   [[kind, text, types, outputs, executor, source, subops, origins, is_backward], …]
///               kind: 0 an argument, 1 a call, 2 an unpacking, 3 a deletion, 4 the return; subops: [[depth, line], …];
///               origins: [[result, its role there], …], the forward ops that a backward op serves
///    "groups":  [{"name", "stages": [{"title", "ms", "name", "lines": [line, …]}, …],
///                 "alive": [bytes, …], "lives": [[name, type, bytes, first, last], …], "peak": line,
///                                                  of the last stage, as run
///                 "runs", "cost": [[microseconds, bytes read, written, operations, share of limit], …]}, …]
///                                                  if it was profiled
///    "kernels": {fusion: {"source", "inputs": [[name, type, strides, offset, shares_with], …], "outputs"}},
///    "profile": {…} or null}
std::string explorer_data(const Jitted&, const HtmlOptions&);

}  // namespace fulgurite::examine
