# The sources of this checkout: the port stands in packaging/vcpkg/ports/fulgurite.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)

set(static OFF)
if(VCPKG_LIBRARY_LINKAGE STREQUAL "static")
  set(static ON)
endif()
vcpkg_cmake_configure(
  SOURCE_PATH ${SOURCE_PATH}
  OPTIONS -DBUILD_TESTING=OFF -DFULGURITE_SERVER=OFF -DFULGURITE_STATIC=${static})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/fulgurite)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include")
vcpkg_copy_tools(TOOL_NAMES fulgurite AUTO_CLEAN)
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
