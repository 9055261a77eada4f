#include "ops/structural/number_symbols.h"

namespace fulgurite {

namespace {

constexpr Symbol number_record(Signature signature, std::string_view documentation, std::string_view python) {
  return {.signature = signature,
          .documentation = documentation,
          .python = python,
          .traits = {.not_differentiable = true, .structural = true}};
}

// In the order of detail::NumberOperation.
constinit const Symbol number_symbols[] = {
    number_record("prims.add_numbers(float a, float b) -> ()", "Sum of two numbers.", "({0} + {1})"),
    number_record("prims.subtract_numbers(float a, float b) -> ()", "Difference of two numbers.", "({0} - {1})"),
    number_record("prims.multiply_numbers(float a, float b) -> ()", "Product of two numbers.", "({0} * {1})"),
    number_record("prims.divide_numbers(float a, float b) -> ()",
                  "Quotient of two numbers; integers round toward zero.", "divide_numbers({0}, {1})"),
    number_record("prims.floor_divide_numbers(float a, float b) -> ()", "Quotient of integers, rounded down.",
                  "({0} // {1})"),
    number_record("prims.remainder_numbers(float a, float b) -> ()", "Remainder of integers, with the dividend's sign.",
                  "int(math.fmod({0}, {1}))"),
    number_record("prims.negate_number(float a) -> ()", "The number with the other sign.", "(-{0})"),
    number_record("prims.minimum_number(float a, float b) -> ()", "The smaller number.", "min({0}, {1})"),
    number_record("prims.maximum_number(float a, float b) -> ()", "The larger number.", "max({0}, {1})"),
    number_record("prims.square_root_number(float a) -> ()", "The square root.", "math.sqrt({0})"),
    number_record("prims.float_number(float a) -> ()", "An integer as a float.", "float({0})"),
    number_record("prims.equal_numbers(float a, float b) -> ()", "True if two numbers are equal.", "({0} == {1})"),
    number_record("prims.not_equal_numbers(float a, float b) -> ()", "True if two numbers differ.", "({0} != {1})"),
    number_record("prims.less_numbers(float a, float b) -> ()", "True if a is less than b.", "({0} < {1})"),
    number_record("prims.less_equal_numbers(float a, float b) -> ()", "True if a is at most b.", "({0} <= {1})"),
    number_record("prims.greater_numbers(float a, float b) -> ()", "True if a is greater than b.", "({0} > {1})"),
    number_record("prims.greater_equal_numbers(float a, float b) -> ()", "True if a is at least b.", "({0} >= {1})"),
    number_record("prims.not_number(bool a) -> ()", "Logical negation.", "(not {0})"),
};

}  // namespace

const Symbol& number_symbol(detail::NumberOperation operation) { return number_symbols[static_cast<int>(operation)]; }

}  // namespace fulgurite
