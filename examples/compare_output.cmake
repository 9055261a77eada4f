# Runs an example and compares what it prints with a file. Called with -DPROGRAM and -DEXPECTED.
execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE printed RESULT_VARIABLE status)
file(READ ${EXPECTED} expected)
# How long a pass took is the machine's.
string(REGEX REPLACE "took [0-9]+ milliseconds" "took 0 milliseconds" printed "${printed}")
if(NOT status EQUAL 0 OR NOT printed STREQUAL expected)
  message(FATAL_ERROR "${PROGRAM} ended with ${status} and printed\n${printed}\nnot what is in ${EXPECTED}")
endif()
