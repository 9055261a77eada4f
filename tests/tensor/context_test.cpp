#include <fulgurite/error.h>
#include <fulgurite/tensor.h>

#include "support/context.h"
#include "support/environment.h"
#include "support/test.h"

namespace fulgurite {

TEST("draws follow one another") {
  GeneratorState generator;
  generator.seed(42);
  expect_equal(generator.next_random_state(10).offset, 0u);
  const RandomState second = generator.next_random_state(5);
  expect_equal(second.offset, 10u);
  expect_equal(second.seed, 42u);
  generator.seed(42);
  expect_equal(generator.next_random_state(1).offset, 0u);
}

TEST("the number of threads is what was set") {
  const int before = num_threads();
  set_num_threads(3);
  expect_equal(num_threads(), 3);
  set_num_threads(before);
  expect_error([] { set_num_threads(0); }, "at least 1");
}

TEST("only variables of the table are read from the environment") {
  expect(!environment_variables().empty());
  expect_error([] { environment_value("FULGURITE_NO_SUCH_VARIABLE"); }, "not in the table");
}

}  // namespace fulgurite
