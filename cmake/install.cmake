# The layout of `cmake --install`, so that find_package(fulgurite CONFIG) provides the target fulgurite::fulgurite.

install(TARGETS fulgurite EXPORT fulguriteTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
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
