#include <fulgurite/error.h>
#include <fulgurite/value.h>

#include "support/test.h"

namespace fulgurite {

TEST("a value keeps what it was made of") {
  expect_equal(Value(3).integer(), Int(3));
  expect_equal(static_cast<double>(Value(3).floating()), 3.0);
  expect_equal(static_cast<double>(Value(0.5).floating()), 0.5);
  expect(Value(true).boolean().hint());
  expect_equal(Value("text").string(), "text");
  expect_equal(Value(Dtype::bf16).dtype(), Dtype::bf16);
  expect_equal(Value(Device("cuda:3")).device(), Device("cuda:3"));
  expect_equal(Value(Shape{2, 3}).list().size(), 2u);
  expect(Value().is_none());
  const Slice slice = Value(Slice(1, {}, 2)).slice();
  expect(slice.start.has_value() && !slice.stop.has_value() && slice.step.has_value());
  const Value collection = Value::collection("C0", {1, 2});
  expect_equal(collection.collection_name(), "C0");
  expect_equal(collection.list().size(), 2u);
  expect_error([] { Value(3).string(); }, "a value is an integer where a string is needed");
}

TEST("values are equal when their constants and proxies are") {
  expect_equal(Value(Shape{1, 2}), Value(std::vector<Value>{1, 2}));
  expect_equal(Value(Shape{1, 2}).hash(), Value(std::vector<Value>{1, 2}).hash());
  expect(!(Value(1) == Value(1.0)));
  expect(!(Value(0.0) == Value(-0.0)));
  expect_equal(Value(NAN), Value(NAN));
  const detail::Ref<TensorProxy> a(new TensorProxy), b(new TensorProxy);
  a->id = 1;
  b->id = 2;
  expect_equal(Value(a), Value(a));
  expect(!(Value(a) == Value(b)));
  expect(!(Value(a) == Value()));
}

TEST("a value of a concrete tensor gives it back") {
  const Tensor x = tensor({1.0, 2.0});
  const Value value(x);
  expect(value.is_tensor());
  const Tensor back = value;
  expect(back.is_same(x));
  expect_equal(value.tensor().type_text(), "cpu f32[2]");
  expect_equal(value, Value(x));
  expect(!(value == Value(tensor({1.0, 2.0}))));
  expect(Value(Tensor()).is_none());
}

TEST("a value that was moved from is none") {
  Value list(std::vector<Value>{1, "a"});
  const Value moved = std::move(list);
  expect(list.is_none());  // NOLINT(bugprone-use-after-move)
  expect_equal(moved.list().size(), 2u);
}

TEST("a value keeps the symbol it refers to") {
  Value value;
  {
    const detail::Ref<NumberProxy> proxy(new NumberProxy);
    proxy->id = 5;
    proxy->name = "i0";
    proxy->integer = 7;
    value = Value(Int(7, proxy.get()));
  }
  expect(value.is_proxy());
  expect_equal(value.integer().hint(), 7);
  expect_equal(value.integer().proxy()->name, "i0");
}

}  // namespace fulgurite
