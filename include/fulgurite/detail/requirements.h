#pragma once
// The first include of every public header: checks the compiler before anything else can fail. A missing file ends the
// compilation, because later errors would not help.
#if !defined(__cplusplus) || __cplusplus < 202002L
#error \
    "Fulgurite is a C++20 library: compile with -std=c++20 or later (CMake: target_compile_features(your_target PRIVATE cxx_std_20))"
#include <fulgurite/see_the_error_above>
#elif !defined(__cpp_exceptions)
#error "Fulgurite reports errors as exceptions: compile without -fno-exceptions"
#include <fulgurite/see_the_error_above>
#endif

#include <cstddef>  // the standard library's own macros

#if defined(_GLIBCXX_DEBUG)
#error \
    "Fulgurite is built with the standard library's ordinary containers, which have another layout than those of _GLIBCXX_DEBUG: compile without it (_GLIBCXX_ASSERTIONS is fine)"
#include <fulgurite/see_the_error_above>
#elif defined(_GLIBCXX_USE_CXX11_ABI) && !_GLIBCXX_USE_CXX11_ABI
#error "Fulgurite is built with the standard library's current std::string: compile without _GLIBCXX_USE_CXX11_ABI=0"
#include <fulgurite/see_the_error_above>
#elif defined(_LIBCPP_VERSION)
#error "Fulgurite is built with libstdc++: compile without -stdlib=libc++"
#include <fulgurite/see_the_error_above>
#endif
