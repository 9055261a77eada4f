# Compiles and runs the C++ form of traces. Called with -DDUMP, -DCOMPILER, -DLIBRARY, -DINCLUDES and -DFOLDER.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(GET ARGN 0 program)
    message(FATAL_ERROR "${program} failed: ${status}")
  endif()
endfunction()

file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
run(${DUMP} ${FOLDER})
set(includes ${CMAKE_CURRENT_LIST_DIR} ${INCLUDES})
list(TRANSFORM includes PREPEND -I)
get_filename_component(library_folder ${LIBRARY} DIRECTORY)
run(${COMPILER} -std=c++20 -O0 ${includes} ${FOLDER}/traces.cpp ${CMAKE_CURRENT_LIST_DIR}/main.cpp ${LIBRARY}
    -Wl,-rpath,${library_folder} -o ${FOLDER}/cpp_form)
run(${FOLDER}/cpp_form ${FOLDER}/tensors.safetensors)
file(REMOVE_RECURSE ${FOLDER})
