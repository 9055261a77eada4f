# Installs the build and compiles and runs a program that finds it with find_package. Called with -DBUILD, -DCOMPILER,
# -DGENERATOR, -DVERSION and -DFOLDER.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nfailed: ${status}\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${FOLDER})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${FOLDER}/prefix)
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${FOLDER}/build -G ${GENERATOR}
  -DCMAKE_CXX_COMPILER=${COMPILER}
    -DCMAKE_PREFIX_PATH=${FOLDER}/prefix -DWANTED_VERSION=${VERSION})
run(${CMAKE_COMMAND} --build ${FOLDER}/build)
run(${FOLDER}/build/consumer)
execute_process(COMMAND ${FOLDER}/build/published WORKING_DIRECTORY ${FOLDER} RESULT_VARIABLE status OUTPUT_VARIABLE
  output ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "published names: ${status}\n${output}")
endif()
run(${FOLDER}/prefix/bin/fulgurite trace linear --backward)
file(REMOVE_RECURSE ${FOLDER})
