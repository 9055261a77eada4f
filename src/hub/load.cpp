#include <algorithm>
#include <map>
#include <set>

#include <fulgurite/autograd_modes.h>
#include <fulgurite/hub/checkpoint.h>

#include "hub/checkpoint.h"
#include "hub/quantization/quantized_layers.h"
#include "support/text/text.h"

namespace fulgurite::hub::detail {

namespace {

using Stored = std::map<std::string, StoredTensor>;

std::vector<int64_t> sizes_of(const Tensor& tensor) {
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < tensor.ndim(); ++i) sizes.push_back(tensor.size(i));
  return sizes;
}

// A tensor of the model with all its names: tied tensors have several.
struct WantedTensor {
  std::vector<std::string> names;
  std::vector<Tensor*> places;
};

std::vector<WantedTensor> wanted_tensors(const std::vector<Slot>& slots) {
  std::vector<WantedTensor> out;
  for (const Slot& slot : slots) {
    const auto same = std::find_if(out.begin(), out.end(), [&](const WantedTensor& other) {
      return is_same_view(*other.places.front(), *slot.tensor);
    });
    WantedTensor& wanted = same == out.end() ? out.emplace_back() : *same;
    wanted.names.push_back(slot.name);
    wanted.places.push_back(slot.tensor);
  }
  return out;
}

// The entry of a name, whose prefix in the files may be missing or added.
Stored::const_iterator find(const Stored& stored, const std::string& name, const FileNames& names) {
  auto found = stored.find(name);
  for (const std::string& prefix : names.extra_prefixes)
    if (found == stored.end()) found = stored.find(prefix + name);
  const bool has_prefix = !names.optional_prefix.empty() && name.rfind(names.optional_prefix, 0) == 0;
  if (found == stored.end() && has_prefix) found = stored.find(name.substr(names.optional_prefix.size()));
  return found;
}

// Fills tensors and collects what does not fit.
class Filler {
 public:
  Filler(const std::string& folder, const FileNames& names, const LoadOptions& options,
         const std::vector<NamedLinear>& layers)
      : folder_(folder), names_(names), options_(options), stored_(open_checkpoint(folder)) {
    for (const NamedLinear& linear : layers) {
      const nn::Linear& layer = *linear.layer;
      if (options.weights != Weights::as_stored && is_quantizable(layer)) in_own_dtype_.insert(&layer.weight);
      if (layer.quantized) in_own_dtype_.insert({&layer.quantized->scales, &layer.quantized->minima});
    }
  }

  void fill(const std::vector<Slot>& slots) {
    const std::vector<WantedTensor> wanted = wanted_tensors(slots);
    std::vector<Stored::const_iterator> sources;
    sources.reserve(wanted.size());
    for (const WantedTensor& tensor : wanted) sources.push_back(source_of(tensor));
    collect_unexpected();
    if (!missing_.empty() || !misshapen_.empty() || !unexpected_.empty())
      throw LoadError(folder_, missing_, unexpected_, misshapen_);
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (sources[i] != stored_.end()) replace(wanted[i], *sources[i]);
      else
        for (Tensor* place : wanted[i].places) *place = Tensor();
    }
  }

 private:
  Stored::const_iterator source_of(const WantedTensor& wanted) {
    auto found = stored_.cend();
    for (const std::string& name : wanted.names) {
      const auto at = find(stored_, name, names_);
      if (at == stored_.end()) continue;
      used_.insert(at->first);
      if (found == stored_.end()) found = at;
    }
    if (found == stored_.end()) {
      const bool is_optional = names_.is_optional != nullptr && names_.is_optional(wanted.names.front());
      if (!is_optional) missing_.push_back(wanted.names.front());
      return found;
    }
    const std::vector<int64_t> in_model = sizes_of(*wanted.places.front());
    if (found->second.info.shape != in_model) misshapen_.push_back({found->first, found->second.info.shape, in_model});
    return found;
  }

  void collect_unexpected() {
    if (!options_.strict) return;
    for (const auto& [name, tensor] : stored_)
      if (used_.count(name) == 0 && (names_.is_ignorable == nullptr || !names_.is_ignorable(name)))
        unexpected_.push_back(name);
  }

  void replace(const WantedTensor& wanted, const Stored::value_type& source) const {
    const bool is_parameter = wanted.places.front()->requires_grad();
    const Tensor stored = tensor_of(source.first, source.second);
    Tensor converted;
    for (Tensor* place : wanted.places) {
      if (in_own_dtype_.count(place) != 0) {
        *place = stored;
        continue;
      }
      if (!converted.defined()) converted = in_wanted_dtype(stored);
      if (is_parameter) converted.requires_grad_();
      *place = converted;
    }
  }
  Tensor in_wanted_dtype(const Tensor& stored) const {
    const bool differs = options_.dtype && is_floating(stored.dtype()) && stored.dtype() != *options_.dtype;
    return differs ? stored.to(*options_.dtype) : stored;
  }

  const std::string& folder_;
  const FileNames& names_;
  const LoadOptions& options_;
  Stored stored_;
  std::set<std::string> used_;
  std::set<const Tensor*> in_own_dtype_;
  std::vector<std::string> missing_, unexpected_;
  std::vector<Misshapen> misshapen_;
};

}  // namespace

void fill(const std::string& folder, const std::vector<Slot>& slots, const FileNames& names, const LoadOptions& options,
          const std::vector<NamedLinear>& layers) {
  if (options.dtype && !is_floating(*options.dtype))
    throw UserError(text::cat("hub::load: dtype must be a floating-point dtype, it is ", name(*options.dtype)));
  const NoGrad no_grad;
  Filler(folder, names, options, layers).fill(slots);
}

}  // namespace fulgurite::hub::detail
