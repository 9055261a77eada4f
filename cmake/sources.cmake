# The library's targets: fulgurite_objects (compiled once), fulgurite (the shared library), fulgurite_internal (the same
# objects for tests of internals), fulgurite_cli (the command line).

add_library(fulgurite_settings INTERFACE)
# g++ 12 reports faults in the standard library's own strings (restrict) and variants (maybe-uninitialized).
target_compile_options(fulgurite_settings INTERFACE -Wall -Wextra
  "$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-maybe-uninitialized>"
                       $<$<BOOL:${FULGURITE_WERROR}>:-Werror>)
if(FULGURITE_SANITIZE)
  # Optimising sanitizer instrumentation triples the compile time. Programs are not optimised: their time is the
  # library's, and compiling them takes half as long.
  set(level $<IF:$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>,-O0,-O1>)
  target_compile_options(fulgurite_settings INTERFACE ${level} -g1 -fsanitize=${FULGURITE_SANITIZE}
                         -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(fulgurite_settings INTERFACE -fsanitize=${FULGURITE_SANITIZE})
endif()

# Reading headers is half of the compiler's work for a short file: the standard library's and those that most files of a
# target include are precompiled. A build without them finds missing includes.
set(fulgurite_standard_headers)
if(FULGURITE_PRECOMPILED_HEADERS)
  foreach(header algorithm array cstdint functional initializer_list map memory optional ostream set span string
    string_view tuple
          unordered_map utility variant vector)
    list(APPEND fulgurite_standard_headers <${header}>)
  endforeach()
endif()
function(precompile_headers target)
  if(fulgurite_standard_headers)
    target_precompile_headers(${target} PRIVATE ${fulgurite_standard_headers} ${ARGN})
    target_compile_options(${target} PRIVATE
      "$<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>")
  endif()
endfunction()

file(GLOB_RECURSE fulgurite_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.cpp)
list(FILTER fulgurite_sources EXCLUDE REGEX "/src/cli/")
if(FULGURITE_IMAGES)
  list(FILTER fulgurite_sources EXCLUDE REGEX "/src/hub/image/absent.cpp")
else()
  list(FILTER fulgurite_sources EXCLUDE REGEX "/src/hub/image/(png|jpeg).cpp")
endif()
if(FULGURITE_NPZ)
  list(FILTER fulgurite_sources EXCLUDE REGEX "/src/io/npy/npz_absent.cpp")
else()
  list(FILTER fulgurite_sources EXCLUDE REGEX "/src/io/npy/npz.cpp")
endif()
set(fulgurite_kernel_sources ${fulgurite_sources})
list(FILTER fulgurite_kernel_sources INCLUDE REGEX "/src/executors/eager/kernels/")
list(FILTER fulgurite_sources EXCLUDE REGEX "/src/executors/eager/kernels/")
list(FILTER fulgurite_sources EXCLUDE REGEX "/src/codegen/prebuilt_gemm/")
set(fulgurite_bf16_pair_sources ${fulgurite_kernel_sources})
list(FILTER fulgurite_bf16_pair_sources INCLUDE REGEX "/kernels/bf16_dot/")
list(FILTER fulgurite_kernel_sources EXCLUDE REGEX "/kernels/bf16_dot/")

configure_file(${PROJECT_SOURCE_DIR}/cmake/version.h.in ${PROJECT_BINARY_DIR}/include/fulgurite/version.h @ONLY)

# The header of generated kernels, as text.
set(kernel_header_definitions "")
foreach(part vector memory math angles activations launch stream integers rows reductions wide transpose amx
  gemm_units gemm_register_tiles gemm_microkernel one_lane scalar scalar_gemm)
  set(header ${PROJECT_SOURCE_DIR}/src/codegen/device_lib/${part}.h)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
  file(READ ${header} content)
  string(APPEND kernel_header_definitions
    "extern const std::string_view ${part}_text;\n"
    "const std::string_view ${part}_text = R\"header(${content})header\";\n\n")
endforeach()
configure_file(${PROJECT_SOURCE_DIR}/cmake/kernel_header_text.cpp.in ${PROJECT_BINARY_DIR}/kernel_header_text.cpp @ONLY)
list(APPEND fulgurite_sources ${PROJECT_BINARY_DIR}/kernel_header_text.cpp)

# The page of the explorer, as text.
set(explorer_definitions "")
foreach(part page.html style.css data.js trace.js inspector.js pictures.js main.js)
  set(file ${PROJECT_SOURCE_DIR}/src/examine/explorer/page/${part})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} content)
  string(REPLACE "." "_" name ${part})
  string(APPEND explorer_definitions
    "extern const std::string_view ${name};\nconst std::string_view ${name} = R\"explorer(${content})explorer\";\n\n")
endforeach()
configure_file(${PROJECT_SOURCE_DIR}/cmake/explorer_text.cpp.in ${PROJECT_BINARY_DIR}/explorer_text.cpp @ONLY)
list(APPEND fulgurite_sources ${PROJECT_BINARY_DIR}/explorer_text.cpp)

add_library(fulgurite_objects OBJECT ${fulgurite_sources})
target_include_directories(fulgurite_objects
  PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
  PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(fulgurite_objects PRIVATE fulgurite_settings)
precompile_headers(fulgurite_objects <fulgurite/trace.h> <fulgurite/symbol.h>
  ${PROJECT_SOURCE_DIR}/src/support/text/text.h
                   ${PROJECT_SOURCE_DIR}/src/tensor/tensor_impl.h ${PROJECT_SOURCE_DIR}/src/ops/core/rules.h)

if(FULGURITE_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/codegen/host_compiler/compile_kernels.cpp PROPERTIES
    COMPILE_DEFINITIONS FULGURITE_ADDRESSES_CHECKED)
endif()

# Floating-point flags of kernels, the same as in codegen/host_compiler/compile_kernels.cpp for generated ones. No
# fast-math: the first two only declare that errno and the floating-point exception flags are not read. A product is
# rounded before it is added to anything, unless the text says multiply_add, so that a kernel of several operators has
# their bits with every compiler.
set(fulgurite_number_flags -fno-math-errno -fno-trapping-math -ffp-contract=off)
# Kernels are compiled once for each instruction set; the best one that the CPU has is selected at the first lookup of a
# kernel.
set(fulgurite_kernel_objects)
function(add_kernel_variant name sources)
  add_library(fulgurite_kernels_${name} OBJECT ${sources})
  target_include_directories(fulgurite_kernels_${name} PRIVATE ${PROJECT_SOURCE_DIR}/include
    ${PROJECT_BINARY_DIR}/include
                             ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(fulgurite_kernels_${name} PRIVATE FULGURITE_KERNELS=kernels_${name})
  target_compile_options(fulgurite_kernels_${name} PRIVATE ${fulgurite_number_flags} -Wno-psabi ${ARGN})
  target_link_libraries(fulgurite_kernels_${name} PRIVATE fulgurite_settings)
  precompile_headers(fulgurite_kernels_${name} ${PROJECT_SOURCE_DIR}/src/executors/eager/kernels.h
                     ${PROJECT_SOURCE_DIR}/src/executors/eager/kernels/common/elements.h)
  list(APPEND fulgurite_kernel_objects $<TARGET_OBJECTS:fulgurite_kernels_${name}>)
  set(fulgurite_kernel_objects ${fulgurite_kernel_objects} PARENT_SCOPE)
endfunction()
# As generated kernels are compiled.
function(add_gemm_variant name)
  add_library(fulgurite_gemms_${name} OBJECT ${PROJECT_SOURCE_DIR}/src/codegen/prebuilt_gemm/prebuilt_gemm.cpp)
  target_include_directories(fulgurite_gemms_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(fulgurite_gemms_${name} PRIVATE FULGURITE_KERNELS=gemms_${name})
  target_compile_options(fulgurite_gemms_${name} PRIVATE $<$<CONFIG:Release>:-O2> ${fulgurite_number_flags}
    -fno-exceptions -fno-rtti
                                                            -Wno-psabi ${ARGN})
  target_link_libraries(fulgurite_gemms_${name} PRIVATE fulgurite_settings)
  list(APPEND fulgurite_kernel_objects $<TARGET_OBJECTS:fulgurite_gemms_${name}>)
  set(fulgurite_kernel_objects ${fulgurite_kernel_objects} PARENT_SCOPE)
endfunction()
# Everything in a kernel is inlined, so that sanitized ones take minutes each to optimise; undefined behaviour is
# checked in the variant with the widest registers, whose text is the same and whose code is the shortest.
set(addresses_only)
if(FULGURITE_SANITIZE)
  set(addresses_only -fno-sanitize=undefined)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
  # Few CPUs still run these: they are not worth the compile time of -O3.
  add_kernel_variant(baseline "${fulgurite_kernel_sources}" $<$<CONFIG:Release>:-O2> ${addresses_only})
  add_kernel_variant(avx2 "${fulgurite_kernel_sources}" -march=x86-64-v3 ${addresses_only})
  add_kernel_variant(avx512 "${fulgurite_kernel_sources}" -march=x86-64-v4 -mprefer-vector-width=512)
  # bf16 dot products, by an instruction or an AMX unit: only the kernels that gain by it, beside those of avx512, which
  # query the CPU.
  add_kernel_variant(avx512_bf16 "${fulgurite_bf16_pair_sources}" -march=x86-64-v4 -mavx512bf16
    -mprefer-vector-width=512)
  add_kernel_variant(amx "${fulgurite_bf16_pair_sources}" -march=x86-64-v4 -mavx512bf16 -mamx-tile -mamx-bf16
    -mprefer-vector-width=512)
  target_compile_definitions(fulgurite_objects PRIVATE FULGURITE_X86_KERNELS)
  if(NOT FULGURITE_SANITIZE)  # sanitizers look into GEMMs that are generated
    add_gemm_variant(avx2 -march=x86-64-v3)
    add_gemm_variant(avx512 -march=x86-64-v4 -mprefer-vector-width=512)
    add_gemm_variant(avx512_bf16 -march=x86-64-v4 -mavx512bf16 -mprefer-vector-width=512)
    add_gemm_variant(amx -march=x86-64-v4 -mavx512bf16 -mamx-tile -mamx-bf16 -mprefer-vector-width=512)
    set_source_files_properties(${PROJECT_SOURCE_DIR}/src/codegen/gemm/gemm_kernel.cpp PROPERTIES COMPILE_DEFINITIONS
      FULGURITE_PREBUILT_GEMMS)
  endif()
else()
  add_kernel_variant(baseline "${fulgurite_kernel_sources}")
endif()

find_package(Threads REQUIRED)
set(fulgurite_private_libraries fulgurite_settings Threads::Threads ${CMAKE_DL_LIBS})
if(FULGURITE_ONEDNN)
  find_path(DNNL_INCLUDE dnnl.h REQUIRED)
  find_library(DNNL_LIBRARY dnnl REQUIRED)
  target_include_directories(fulgurite_objects PRIVATE ${DNNL_INCLUDE})
  target_compile_definitions(fulgurite_objects PRIVATE FULGURITE_ONEDNN)
  list(APPEND fulgurite_private_libraries ${DNNL_LIBRARY})
endif()
# Regular expressions and Unicode's tables, for tokenizers.
find_path(PCRE2_INCLUDE pcre2.h REQUIRED)
find_library(PCRE2_LIBRARY pcre2-8 REQUIRED)
find_path(UTF8PROC_INCLUDE utf8proc.h REQUIRED)
find_library(UTF8PROC_LIBRARY utf8proc REQUIRED)
target_include_directories(fulgurite_objects PRIVATE ${PCRE2_INCLUDE} ${UTF8PROC_INCLUDE})
list(APPEND fulgurite_private_libraries ${PCRE2_LIBRARY} ${UTF8PROC_LIBRARY})
if(FULGURITE_IMAGES)
  find_path(PNG_INCLUDE png.h REQUIRED)
  find_library(PNG_LIBRARY png REQUIRED)
  find_path(JPEG_INCLUDE jpeglib.h REQUIRED)
  find_library(JPEG_LIBRARY jpeg REQUIRED)
  target_include_directories(fulgurite_objects PRIVATE ${PNG_INCLUDE} ${JPEG_INCLUDE})
  list(APPEND fulgurite_private_libraries ${PNG_LIBRARY} ${JPEG_LIBRARY})
endif()
if(FULGURITE_NPZ)
  find_path(ZIP_INCLUDE zip.h REQUIRED)
  find_library(ZIP_LIBRARY zip REQUIRED)
  target_include_directories(fulgurite_objects PRIVATE ${ZIP_INCLUDE})
  list(APPEND fulgurite_private_libraries ${ZIP_LIBRARY})
endif()
if(FULGURITE_ONEDNN)
  # The thread runtime of oneDNN, which is told to use one thread.
  find_library(GOMP_LIBRARY NAMES gomp libgomp.so.1 REQUIRED
               PATHS /usr/lib/gcc/${CMAKE_SYSTEM_PROCESSOR}-linux-gnu/12 /usr/lib/${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
  list(APPEND fulgurite_private_libraries ${GOMP_LIBRARY})
endif()

add_library(fulgurite SHARED $<TARGET_OBJECTS:fulgurite_objects> ${fulgurite_kernel_objects})
add_library(fulgurite::fulgurite ALIAS fulgurite)
target_include_directories(fulgurite
  INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(fulgurite INTERFACE cxx_std_20)
target_link_libraries(fulgurite PRIVATE $<BUILD_INTERFACE:${fulgurite_private_libraries}>)
# The libraries that programs of an installed static library are linked with, by the linker's names.
set(fulgurite_link_names "")
foreach(path ${fulgurite_private_libraries} ${CMAKE_DL_LIBS})
  if(path MATCHES "/lib([^/]+)[.]so")
    list(APPEND fulgurite_link_names ${CMAKE_MATCH_1})
  endif()
endforeach()
# Its threads run until the process ends, so its code stays when it is closed.
target_link_options(fulgurite PRIVATE LINKER:-z,nodelete)
set_target_properties(fulgurite PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})

# The same objects for programs that carry the library in them: the target fulgurite::static.
if(FULGURITE_STATIC)
  add_library(fulgurite_static STATIC $<TARGET_OBJECTS:fulgurite_objects> ${fulgurite_kernel_objects})
  add_library(fulgurite::static ALIAS fulgurite_static)
  set_target_properties(fulgurite_static PROPERTIES OUTPUT_NAME fulgurite EXPORT_NAME static)
  target_include_directories(fulgurite_static
    INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(fulgurite_static INTERFACE cxx_std_20)
  target_link_libraries(fulgurite_static INTERFACE ${fulgurite_link_names} pthread dl)
endif()

set(internal_kind STATIC)
if(FULGURITE_SANITIZE)
  set(internal_kind SHARED)
endif()
add_library(fulgurite_internal ${internal_kind} EXCLUDE_FROM_ALL
  $<TARGET_OBJECTS:fulgurite_objects> ${fulgurite_kernel_objects})
target_include_directories(fulgurite_internal
  INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(fulgurite_internal PUBLIC ${fulgurite_private_libraries})

file(GLOB_RECURSE fulgurite_cli_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cli/*.cpp)
if(FULGURITE_SERVER)
  list(FILTER fulgurite_cli_sources EXCLUDE REGEX "/src/cli/serve/absent.cpp")
else()
  list(FILTER fulgurite_cli_sources EXCLUDE REGEX "/src/cli/serve/")
  list(APPEND fulgurite_cli_sources ${PROJECT_SOURCE_DIR}/src/cli/serve/absent.cpp)
endif()
if(fulgurite_cli_sources)
  add_executable(fulgurite_cli ${fulgurite_cli_sources})
  set_target_properties(fulgurite_cli PROPERTIES OUTPUT_NAME fulgurite)
  target_include_directories(fulgurite_cli PRIVATE ${PROJECT_SOURCE_DIR}/src)
  # It contains and exports the complete library: a user's shared library linked with libfulgurite resolves to this
  # copy.
  set_target_properties(fulgurite_cli PROPERTIES ENABLE_EXPORTS ON)
  target_link_libraries(fulgurite_cli PRIVATE -Wl,--whole-archive fulgurite_internal -Wl,--no-whole-archive)
  if(FULGURITE_SERVER)
    find_path(HTTPLIB_INCLUDE httplib.h REQUIRED)
    find_library(HTTPLIB_LIBRARY cpp-httplib REQUIRED)
    # As Debian compiles the library: its classes differ with these.
    set_source_files_properties(${PROJECT_SOURCE_DIR}/src/cli/serve/http_server.cpp PROPERTIES COMPILE_DEFINITIONS
      "CPPHTTPLIB_OPENSSL_SUPPORT;CPPHTTPLIB_ZLIB_SUPPORT;CPPHTTPLIB_BROTLI_SUPPORT")
    target_include_directories(fulgurite_cli SYSTEM PRIVATE ${HTTPLIB_INCLUDE})
    target_link_libraries(fulgurite_cli PRIVATE ${HTTPLIB_LIBRARY})
  endif()
endif()
