# The layout of `cmake --install`, so that find_package(fulgurite CONFIG) provides the target fulgurite::fulgurite.

install(TARGETS fulgurite EXPORT fulguriteTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(FULGURITE_STATIC)
  install(TARGETS fulgurite_static EXPORT fulguriteTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET fulgurite_cli)
  set_target_properties(fulgurite_cli PROPERTIES
                        INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS fulgurite_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY include/fulgurite ${PROJECT_BINARY_DIR}/include/fulgurite DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT fulguriteTargets NAMESPACE fulgurite:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fulgurite)
configure_package_config_file(cmake/fulguriteConfig.cmake.in ${PROJECT_BINARY_DIR}/fulguriteConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fulgurite)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/fulguriteConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/fulguriteConfig.cmake ${PROJECT_BINARY_DIR}/fulguriteConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fulgurite)

# The same for programs built without CMake: c++ $(pkg-config --cflags --libs fulgurite) program.cpp.
set(fulgurite_pc_private "")
foreach(name ${fulgurite_link_names} pthread dl)
  string(APPEND fulgurite_pc_private " -l${name}")
endforeach()
configure_file(cmake/fulgurite.pc.in ${PROJECT_BINARY_DIR}/fulgurite.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/fulgurite.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
