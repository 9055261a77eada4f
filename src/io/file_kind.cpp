#include "io/file_kind.h"

#include <algorithm>
#include <cctype>

#include "support/text/text.h"

namespace fulgurite {

namespace {

struct MagicBytes {
  std::string_view start, description;
};

constexpr std::string_view convert_it =
    "load it with torch.load in Python and write it with safetensors.torch.save_file";

constexpr MagicBytes magic_bytes[] = {
    {"version https://git-lfs.github.com/",
     "is a Git LFS pointer, not the file that it stands for: run \"git lfs pull\""},
    {"\x1f\x8b", "is compressed with gzip, not a safetensors file: unpack it first"},
    {"\x28\xb5\x2f\xfd", "is compressed with zstd, not a safetensors file: unpack it first"},
    {"\xfd"
     "7zXZ",
     "is compressed with xz, not a safetensors file: unpack it first"},
    {"GGUF", "is a GGUF file, not a safetensors file"},
    {"\x89HDF", "is an HDF5 file, not a safetensors file"},
    {"\x93NUMPY", "is a NumPy array, not a safetensors file"},
};

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool is_pickle(std::string_view start) {
  return start.size() > 8 && start[0] == '\x80' && start[1] >= 2 && start[1] <= 5;
}

bool is_web_page(std::string_view start) {
  std::string text(start.substr(std::min(start.find_first_not_of(" \t\r\n"), start.size())));
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text.starts_with("<!doctype html") || text.starts_with("<html") || text.starts_with("<?xml") ||
         text.starts_with("<head");
}

}  // namespace

std::string_view kind_of_file(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "a special file";
}

std::string describe_foreign_file(std::string_view start) {
  for (const MagicBytes& magic : magic_bytes)
    if (start.starts_with(magic.start)) return std::string(magic.description);
  if (start.starts_with("PK\x03\x04"))
    return contains(start, "data.pkl")
               ? text::cat("is a PyTorch checkpoint (a zip archive), not a safetensors file: ", convert_it)
               : std::string("is a zip archive, not a safetensors file: unpack it first");
  if (is_pickle(start)) return text::cat("is a pickle (a PyTorch checkpoint?), not a safetensors file: ", convert_it);
  if (is_web_page(start))
    return "is a web page, not a safetensors file: the download gave a page, for example one to sign in";
  if (start.starts_with("{")) return "is JSON, not a safetensors file; if it is an index, read the files that it names";
  return "";
}

}  // namespace fulgurite
