#include "hub/checkpoint.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fulgurite/error.h>

#include "hub/files.h"
#include "io/json.h"
#include "io/safetensors_header.h"
#include "support/text/text.h"
#include "support/text/utf8.h"

namespace fulgurite::hub {

namespace {

namespace fs = std::filesystem;

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

[[noreturn]] void fail(const std::string& path, std::string_view reason) {
  throw UserError(text::cat("\"", path, "\" ", reason));
}

std::shared_ptr<const MappedFile> map_file(const std::string& path) {
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat status = {};
  if (file.number < 0 || fstat(file.number, &status) != 0) fail(path, text::cat("cannot be read: ", strerror(errno)));
  if (!S_ISREG(status.st_mode)) fail(path, "is not a file");
  const auto size = static_cast<uint64_t>(status.st_size);
  if (size < safetensors::prefix_bytes) fail(path, "is too short for a safetensors file");
  void* bytes = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.number, 0);
  if (bytes == MAP_FAILED) fail(path, text::cat("cannot be mapped: ", strerror(errno)));
  OutsideMemory memory =
      OutsideMemory::adopt(bytes, static_cast<int64_t>(size), [bytes, size] { munmap(bytes, size); });
  return std::make_shared<const MappedFile>(MappedFile{path, memory, static_cast<std::byte*>(bytes)});
}

safetensors::Header read_header(const MappedFile& file) {
  const auto size = static_cast<uint64_t>(file.memory.bytes());
  try {
    const auto* prefix = static_cast<const unsigned char*>(static_cast<const void*>(file.bytes));
    const uint64_t length = safetensors::header_length(prefix, size);
    const auto* text = static_cast<const char*>(static_cast<const void*>(file.bytes + safetensors::prefix_bytes));
    return safetensors::parse_header({text, length}, size);
  } catch (const UserError& error) {
    fail(file.path, text::cat("is not a safetensors file: ", error.what()));
  }
}

void add_file(std::map<std::string, StoredTensor>& tensors, const std::string& path) {
  const auto file = map_file(path);
  safetensors::Header header = read_header(*file);
  for (size_t i = 0; i < header.names.size(); ++i) {
    const auto [at, is_new] =
        tensors.try_emplace(header.names[i], StoredTensor{file, std::move(header.infos[i]), header.begins[i]});
    if (!is_new)
      fail(path,
           text::cat("has the tensor ", printable(header.names[i]), ", which \"", at->second.file->path, "\" has too"));
  }
}

// The files of an index, each once, with the tensors that they must have.
std::map<std::string, std::vector<std::string>> read_index(const std::string& path) {
  std::map<std::string, std::vector<std::string>> files;
  try {
    const json::Node root = json::parse(read_text(path));
    for (const json::Member& member : root.at("weight_map", json::Node::Kind::object).members) {
      const std::string& file = member.value.string;
      if (!member.value.is(json::Node::Kind::string) || file.empty() || fs::path(file).filename() != file)
        throw UserError(text::cat("tensor ", printable(member.name), " is in ", printable(file),
                                  ", which is not the name of a file in the folder"));
      files[file].push_back(member.name);
    }
  } catch (const UserError& error) {
    fail(path, text::cat("is not an index of safetensors files: ", error.what()));
  }
  if (files.empty()) fail(path, "lists no tensors");
  return files;
}

std::map<std::string, StoredTensor> open_shards(const std::string& folder, const std::string& index) {
  std::map<std::string, StoredTensor> tensors;
  for (const auto& [file, names] : read_index(index)) {
    const std::string path = join_path(folder, file);
    if (!fs::exists(path)) fail(path, text::cat("is missing; \"", index, "\" lists it"));
    add_file(tensors, path);
    for (const std::string& name : names)
      if (const auto found = tensors.find(name); found == tensors.end() || found->second.file->path != path)
        fail(path, text::cat("does not have the tensor ", printable(name), ", which \"", index, "\" lists there"));
  }
  return tensors;
}

[[noreturn]] void refuse_folder(const std::string& folder) {
  for (const char* name : {"pytorch_model.bin", "pytorch_model.bin.index.json", "tf_model.h5", "flax_model.msgpack"})
    if (fs::exists(join_path(folder, name)))
      throw UserError(text::cat("\"", folder, "\" has ", name,
                                ", but no model.safetensors. Pickled files run code when "
                                "they are read and are not supported: save the model with transformers' "
                                "save_pretrained(folder), which writes safetensors"));
  throw UserError(text::cat("\"", folder, "\" has neither model.safetensors nor model.safetensors.index.json"));
}

}  // namespace

std::map<std::string, StoredTensor> open_checkpoint(const std::string& folder) {
  const std::string whole = join_path(folder, "model.safetensors");
  const std::string index = join_path(folder, "model.safetensors.index.json");
  if (fs::exists(index)) return open_shards(folder, index);
  if (!fs::exists(whole)) refuse_folder(folder);
  std::map<std::string, StoredTensor> tensors;
  add_file(tensors, whole);
  return tensors;
}

Tensor tensor_of(const std::string& name, const StoredTensor& stored) {
  if (!stored.info.loads_as)
    fail(stored.file->path,
         text::cat("has the tensor ", printable(name), " of dtype ", stored.info.dtype, ", which is not supported"));
  const Dtype dtype = *stored.info.loads_as;
  const auto item = static_cast<uint64_t>(size_of(dtype));
  std::vector<int64_t> strides(stored.info.shape.size());
  int64_t count = 1;
  for (size_t i = strides.size(); i-- > 0;) {
    strides[i] = count;
    count *= stored.info.shape[i];
  }
  // Each tensor is a memory of its own: a write to one is none to the others of the file.
  if (stored.begin % item == 0 && dtype != Dtype::boolean)
    return OutsideMemory::adopt(stored.file->bytes + stored.begin, count * static_cast<int64_t>(item),
                                [file = stored.file] { (void)file; })
        .tensor(stored.info.shape, strides, 0, dtype);
  return SafetensorsFile(stored.file->path).load(name);
}

}  // namespace fulgurite::hub
