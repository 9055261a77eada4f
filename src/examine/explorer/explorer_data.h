#pragma once
#include <string>

#include <fulgurite/explorer.h>

namespace fulgurite::examine {

/// All that the page shows, as one JSON object. Lines are in one table, in which a line that is the same in many stages stands once:
///
///   {"title", "library",
///    "files":   [[name, [line, …]], …]             the user's, by place
///    "sources": [[file, line], …]                  into them
///    "lines":   [[kind, text, types, outputs, executor, source, subops, origins, is_backward], …]
///               kind: 0 an argument, 1 a call, 2 an unpacking, 3 a deletion, 4 the return; subops: [[depth, line], …];
///               origins: [[result, what it does there], …], the forward lines that a backward line serves
///    "groups":  [{"name", "stages": [{"title", "ms", "name", "lines": [line, …]}, …],
///                 "alive": [bytes, …], "lives": [[name, type, bytes, first, last], …], "peak": line,     of the last stage, as run
///                 "runs", "cost": [[microseconds, bytes read, written, operations, share of limit], …]}, …]   where it was profiled
///    "kernels": {fusion: {"source", "inputs": [[name, type, strides, offset, shares_with], …], "outputs"}},
///    "profile": {…} or null}
std::string explorer_data(const Jitted&, const HtmlOptions&);

}  // namespace fulgurite::examine
