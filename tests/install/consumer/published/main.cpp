#include "check.h"

int main() {
  tensors();
  functions();
  traces();
  extending();
  examining();
  engine();
  training();
  return failures == 0 ? 0 : 1;
}
