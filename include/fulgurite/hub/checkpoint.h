#pragma once
#include <fulgurite/detail/requirements.h>

// Loading and saving folders of Hugging Face models: config.json, safetensors files, tokenizer files.
#include <cstdint>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fulgurite/detail/walk.h>
#include <fulgurite/error.h>
#include <fulgurite/hub/config.h>
#include <fulgurite/hub/linear_layers.h>
#include <fulgurite/hub/quantization.h>
#include <fulgurite/models/layer_maker.h>
#include <fulgurite/nn.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace hub {

/// A tensor of a checkpoint whose shape is not the model's.
struct Misshapen {
  std::string name;
  std::vector<int64_t> in_files, in_model;
};

/// A checkpoint that does not fit the model. The message lists all differences, layers grouped.
class LoadError : public UserError {
 public:
  LoadError(const std::string& folder, std::vector<std::string> missing, std::vector<std::string> unexpected,
            std::vector<Misshapen> misshapen);
  std::vector<std::string> missing;     // tensors of the model that the files do not have
  std::vector<std::string> unexpected;  // tensors of the files that the model does not have
  std::vector<Misshapen> misshapen;
};

/// Options of `load`.
struct LoadOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  std::optional<Dtype> dtype{};  // of the floating-point tensors; none: as in the files
  bool strict = true;            // false: unexpected tensors are ignored
  /// The form of all linear layers' weights, if their input has a multiple of 32 features. An output layer that has the
  /// embedding's weight gets codes of its own. They are not trained; LoRA on them is.
  Weights weights = Weights::as_stored;
};

/// Options of `save`.
struct SaveOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  std::string like{};                    // the folder of the original: its config and tokenizer files are copied
  int64_t shard_bytes = 50'000'000'000;  // a larger model is saved as several files
};

namespace detail {
/// A tensor of a model under its name in files.
struct Slot {
  std::string name;
  Tensor* tensor;
};
/// The static members of a model class about its checkpoints.
struct FileNames {
  std::string optional_prefix;                       // names in files may lack it
  std::vector<std::string> extra_prefixes;           // names in files may begin with one of them
  bool (*is_ignorable)(std::string_view) = nullptr;  // unexpected names that are skipped
  bool (*is_optional)(std::string_view) = nullptr;   // missing names whose tensors become undefined
};

/// Fills the slots from the safetensors files of a folder. The layers' weights that become codes, and scales, keep
/// their dtypes.
void fill(const std::string& folder, const std::vector<Slot>& slots, const FileNames& names, const LoadOptions& options,
          const std::vector<NamedLinear>& layers);
/// Writes safetensors files, their index and the copies of the original's files.
void save(const std::string& folder, const std::vector<Slot>& slots, const SaveOptions& options);

template <class Model>
std::vector<Slot> slots_of(Model& model) {
  std::vector<Slot> slots;
  fulgurite::detail::for_each_named_tensor(model, [&slots](const std::string& path, Tensor& tensor) {
    if (!tensor.defined()) return;
    if constexpr (requires { Model::is_in_files(std::string_view(path)); })
      if (!Model::is_in_files(path)) return;
    slots.push_back({path, &tensor});
  });
  return slots;
}

template <class Model>
FileNames file_names() {
  FileNames names;
  if constexpr (requires { Model::optional_prefix; }) names.optional_prefix = Model::optional_prefix;
  if constexpr (requires { Model::extra_prefixes; })
    names.extra_prefixes.assign(Model::extra_prefixes.begin(), Model::extra_prefixes.end());
  if constexpr (requires { Model::is_ignorable(std::string_view()); }) names.is_ignorable = &Model::is_ignorable;
  if constexpr (requires { Model::is_optional(std::string_view()); }) names.is_optional = &Model::is_optional;
  return names;
}
}  // namespace detail

/// A model class that can be loaded: its static function makes a model of the sizes in a config. Members are named as
/// the tensors in the files. Optional static members: `is_in_files(name)`, false for tensors that files do not have;
/// `is_ignorable(name)`, true for tensors of files that the model does not need; `is_optional(name)`, true for tensors
/// that are undefined if the files do not have them; `optional_prefix`, a beginning of names that files may lack, and
/// `extra_prefixes`, a list of those that they may have.
template <class Model>
concept Loadable = requires(const Config& config, const models::LayerMaker& make) {
  { Model::from_config(config, make) } -> std::convertible_to<Model>;
};

/// Loads a folder with config.json and model.safetensors, or several files with an index. The tensors are mapped from
/// the files, without a copy, unless the dtype differs; the mapping is private, so training does not change the files.
/// Parameters require gradients; layers with a `training` member are in evaluation mode. UserError if a file is missing
/// or malformed, LoadError if names or shapes do not fit.
template <Loadable Model>
Model load(const std::string& folder, const LoadOptions& options = {}) {
  const Config config = Config::read(folder);
  Model model = Model::from_config(config, models::LayerMaker{.initialize = false});
  const std::vector<detail::NamedLinear> layers = detail::collect(model).layers;
  detail::place_codes(folder, config, layers, options.weights);
  detail::fill(folder, detail::slots_of(model), detail::file_names<Model>(), options, layers);
  detail::quantize(layers, options.weights);
  nn::eval(model);
  return model;
}

/// Saves the model as a folder that transformers loads: the config of `options.like` with the model's dtype, the
/// tensors under their names (tied ones once), and the tokenizer's files byte for byte. Each file is replaced
/// atomically, config.json last. UserError if `like` is not given or has no config.json.
template <class Model>
void save(const Model& model, const std::string& folder, const SaveOptions& options) {
  Model handles = model;
  detail::save(folder, detail::slots_of(handles), options);
}

}  // namespace hub
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
