# Links a sanitized program with the library and runs it. Called with -DCOMPILER, -DLIBRARY, -DINCLUDES and -DFOLDER.
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
set(includes ${INCLUDES})
list(TRANSFORM includes PREPEND -I)
get_filename_component(library_folder ${LIBRARY} DIRECTORY)
file(WRITE ${FOLDER}/empty.cpp "int main() {}\n")
execute_process(COMMAND ${COMPILER} -fsanitize=address ${FOLDER}/empty.cpp -o ${FOLDER}/empty RESULT_VARIABLE status
  OUTPUT_QUIET ERROR_QUIET)
if(NOT status EQUAL 0)
  message("skipped: the compiler has no sanitizer runtime")
  return()
endif()
execute_process(COMMAND ${COMPILER} -std=c++20 -fsanitize=address ${includes} ${CMAKE_CURRENT_LIST_DIR}/program.cpp
  ${LIBRARY}
                        -Wl,-rpath,${library_folder} -o ${FOLDER}/program RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the program was not built: ${status}")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -E env ASAN_OPTIONS=detect_leaks=1 ${FOLDER}/program RESULT_VARIABLE status
  OUTPUT_VARIABLE output)
if(NOT status EQUAL 0 OR NOT output STREQUAL "done\n")
  message(FATAL_ERROR "the program ended with ${status} and printed '${output}'")
endif()
file(REMOVE_RECURSE ${FOLDER})
