// Faults injected into kernels, inputs and passes: each must be located to the op. tools/check planted runs many.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fault_injection/fault_program.h"

using namespace fulgurite;
using namespace fulgurite::test;

int main(int count, char** arguments) {
  long faults = 200, seed = 0;
  const char* only = "";
  for (int i = 1; i < count; ++i) {
    const auto is = [&](const char* name) { return std::strcmp(arguments[i], name) == 0 && i + 1 < count; };
    if (is("--count")) faults = std::atol(arguments[++i]);
    else if (is("--seed")) seed = std::atol(arguments[++i]);
    else if (is("--only")) only = arguments[++i];
    else return std::fprintf(stderr, "usage: planted_faults [--count N] [--seed N] [--only KIND]\n"), 2;
  }
  struct Kind {
    const char* name;
    Located (*plant)(unsigned);
    long planted = 0, located = 0;
  };
  Kind kinds[] = {{"kernel", plant_in_kernel_text},
                  {"nan", plant_nan},
                  {"pass", plant_in_pass},
                  {"fusion", plant_in_fusion_executor},
                  {"operator", plant_in_operator}};
  for (long i = 0; i < faults; ++i) {
    Kind& kind = kinds[i % static_cast<long>(std::size(kinds))];
    if (*only && std::strcmp(only, kind.name) != 0) continue;
    const Located found = kind.plant(static_cast<unsigned>(seed * 1000 + i));
    ++kind.planted;
    kind.located += found.is_located;
    if (!found.is_located)
      std::printf("NOT LOCATED fault %ld (%s): %s\n  said: %s\n", i, kind.name, found.planted.c_str(),
                  found.report.empty() ? "nothing" : found.report.c_str());
  }
  long planted = 0, located = 0;
  for (const Kind& kind : kinds) {
    std::printf("%s: %ld of %ld located\n", kind.name, kind.located, kind.planted);
    planted += kind.planted;
    located += kind.located;
  }
  std::printf("%ld faults, %ld located to the line\n", planted, located);
  return planted == located ? 0 : 1;
}
