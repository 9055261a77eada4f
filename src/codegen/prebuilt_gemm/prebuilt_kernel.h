#pragma once

namespace fulgurite::codegen {

/// A product's function, before it is known as which type it is called.
using LibraryFunction = void (*)();

}  // namespace fulgurite::codegen

// One for each of the instructions that the library has products for: the function of that name whose epilogue has these statements, or none.
namespace fulgurite::products_avx2 {
codegen::LibraryFunction library_product(const char* name, const char* statements);
}
namespace fulgurite::products_avx512 {
codegen::LibraryFunction library_product(const char* name, const char* statements);
}
namespace fulgurite::products_avx512_bf16 {
codegen::LibraryFunction library_product(const char* name, const char* statements);
}
namespace fulgurite::products_matrix_unit {
codegen::LibraryFunction library_product(const char* name, const char* statements);
}
