#pragma once

namespace fulgurite::codegen {

/// A GEMM's function, before its type is known.
using LibraryFunction = void (*)();

}  // namespace fulgurite::codegen

// For each prebuilt instruction set: the function of this number in PrebuiltForms, or null.
namespace fulgurite::gemms_avx2 {
codegen::LibraryFunction library_function(int number);
}
namespace fulgurite::gemms_avx512 {
codegen::LibraryFunction library_function(int number);
}
namespace fulgurite::gemms_avx512_bf16 {
codegen::LibraryFunction library_function(int number);
}
namespace fulgurite::gemms_amx {
codegen::LibraryFunction library_function(int number);
}
