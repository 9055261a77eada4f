#include <fulgurite/error.h>
#include <fulgurite/npy.h>

namespace fulgurite {

// Builds without libzip have these functions instead of npz.cpp.
namespace {

[[noreturn]] void refuse() {
  throw UserError("this build of fulgurite has no .npz archives; build it with -DFULGURITE_NPZ=ON");
}

}  // namespace

TensorMap load_npz(const std::string&) { refuse(); }
TensorMap load_npz(const std::string&, const std::vector<std::string>&) { refuse(); }
void save_npz(const std::string&, const TensorMap&, const NpzOptions&) { refuse(); }

}  // namespace fulgurite
