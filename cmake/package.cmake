# Packages of an installation: `cpack -G DEB` for Debian, `cpack -G TGZ` for an archive that is unpacked anywhere.
set(CPACK_PACKAGE_NAME fulgurite)
set(CPACK_PACKAGE_VENDOR "Fulgurite")
set(CPACK_PACKAGE_CONTACT "The Fulgurite developers <fulgurite@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_FILE_NAME fulgurite-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Kernels are generated as C++ text and compiled while a program runs.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS g++)

# An archive that carries the libraries of Debian which it needs, but for the C and C++ ones: they are found beside the
# library, wherever it is unpacked.
option(FULGURITE_BUNDLE "Install the libraries that fulgurite needs beside it" OFF)
if(FULGURITE_BUNDLE)
  # RPATH, which the libraries of the libraries are found by too, not RUNPATH.
  target_link_options(fulgurite PRIVATE LINKER:--disable-new-dtags)
  set_target_properties(fulgurite PROPERTIES INSTALL_RPATH "$ORIGIN/fulgurite")
  if(TARGET fulgurite_cli)
    target_link_options(fulgurite_cli PRIVATE LINKER:--disable-new-dtags)
    set(libraries "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
    set_target_properties(fulgurite_cli PROPERTIES INSTALL_RPATH "${libraries};${libraries}/fulgurite")
  endif()
  install(CODE "set(libraries \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}\")")
  install(CODE [[
    file(MAKE_DIRECTORY $ENV{DESTDIR}${libraries}/fulgurite)
    file(GET_RUNTIME_DEPENDENCIES
         LIBRARIES "$ENV{DESTDIR}${libraries}/libfulgurite.so"
         EXECUTABLES "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/bin/fulgurite"
         RESOLVED_DEPENDENCIES_VAR found UNRESOLVED_DEPENDENCIES_VAR missing
         POST_EXCLUDE_REGEXES "/ld-linux" "/libc[.]so" "/libm[.]so" "/libdl[.]so" "/libpthread[.]so" "/libstdc"
                              "/libgcc_s" "/libfulgurite")
    foreach(path ${found})
      get_filename_component(real ${path} REALPATH)
      get_filename_component(name ${path} NAME)
      file(COPY_FILE ${real} $ENV{DESTDIR}${libraries}/fulgurite/${name})
    endforeach()
  ]])
endif()

include(CPack)
