#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fulgurite/trace.h>

namespace fulgurite::detail {

/// A pass of the pipeline: one of the library, known by its name, or the user's, which has a transform.
struct NamedPass {
  std::string name;
  bool is_required = false;
  Transform transform = {};
};

struct PassList {
  std::vector<NamedPass> passes;
};

/// The library's passes.
std::shared_ptr<const PassList> library_passes();

}  // namespace fulgurite::detail
