"""Computes with the installed package on a machine that has nothing else (python/check_wheel)."""

import math
import sys

import fulgurite as fg

assert not {"torch", "numpy"} & set(sys.modules)
x = fg.tensor([[1.0, 2.0], [3.0, 4.0]])
assert fg.ops.matmul(x, x).tolist() == [[7.0, 10.0], [15.0, 22.0]]

whole = fg.jit(lambda a: fg.ops.sum(fg.ops.exp(fg.ops.matmul(a, a) * 0.1) + a))
expected = sum(math.exp(e * 0.1) for e in (7, 10, 15, 22)) + 10
assert abs(whole(x).item() - expected) < 1e-5
gradient = fg.grad(lambda a: fg.ops.sum(fg.ops.exp(a) * a))(x).tolist()
assert abs(gradient[1][1] - math.exp(4.0) * 5.0) < 1e-3

image = fg.tensor([[[[float(8 * i + j) for j in range(8)] for i in range(8)]]])
assert fg.ops.conv2d(image, fg.tensor([[[[1.0, 1.0], [1.0, 1.0]]]])).tolist()[0][0][0][:2] == [18.0, 22.0]

opened = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
print("right;", ", ".join(sorted(p.split("site-packages/")[-1] for p in opened if "fulgurite" in p)))
