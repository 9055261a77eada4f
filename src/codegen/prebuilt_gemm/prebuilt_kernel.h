#pragma once

namespace fulgurite::codegen {

/// A GEMM's function, before its type is known.
using LibraryFunction = void (*)();

}  // namespace fulgurite::codegen

// One lookup for each prebuilt instruction set: the function of that name whose epilogue has these statements, or null.
namespace fulgurite::products_avx2 {
codegen::LibraryFunction library_product(const char* name, const char* statements);
}
namespace fulgurite::products_avx512 {
codegen::LibraryFunction library_product(const char* name, const char* statements);
}
namespace fulgurite::products_avx512_bf16 {
codegen::LibraryFunction library_product(const char* name, const char* statements);
}
namespace fulgurite::products_amx {
codegen::LibraryFunction library_product(const char* name, const char* statements);
}
