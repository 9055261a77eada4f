// usage: cpp_form TENSORS_FILE
#include <exception>

#include "cpp_form.h"

int main(int count, char** arguments) {
  if (count != 2) return 2;
  try {
    cpp_form::tensors() = fulgurite::load_safetensors(arguments[1]);
    cpp_form::check_all();
  } catch (const std::exception& error) {
    std::printf("FAILED: %s\n", error.what());
    ++cpp_form::failed;
  }
  std::printf("%d passed, %d failed\n", cpp_form::passed, cpp_form::failed);
  return cpp_form::failed ? 1 : 0;
}
