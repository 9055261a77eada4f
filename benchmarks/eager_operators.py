"""Eager speed of every operator against eager PyTorch: one thread each, alternately on the same work, the least CPU
time of several repetitions. Prints a line for each operator (the geometric mean of our time / PyTorch's, and the worst
case) and the totals.

usage: eager_operators.py --program build/benchmarks/bench_eager_operators [--quick] [--only NAME,...] [--sizes N,...]
       [--dtypes f32,bf16] [--layouts contiguous,transposed] [--seconds S] [--repeats N] [--table FILE.csv]
Runs on a Python that has PyTorch. glibc is told to keep freed pages, so that PyTorch does not pay page faults. The full
table takes about a quarter of an hour, --quick about two minutes."""

import argparse
import csv
import json
import math
import os
import subprocess
import sys
import time

# The settings of a tuned PyTorch user; they must stand when the process starts.
SETTINGS = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": "100000000000",
    "MALLOC_TOP_PAD_": "268435456",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}


class Ours:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the program ended at {request}")
        return json.loads(line)

    def prepare(self, name, args, kwargs, seconds):
        return self.ask({"op": name, "args": args, "kwargs": kwargs, "seconds": seconds})

    def again(self, seconds):
        return self.ask({"seconds": seconds})["us"]


class Theirs:
    LIMIT = 1 << 30  # bytes of tensors kept for the next cases

    def __init__(self):
        import torch

        self.torch = torch
        torch.set_num_threads(1)
        self.dtypes = {
            "f32": torch.float32,
            "bf16": torch.bfloat16,
            "i64": torch.int64,
            "bool": torch.bool,
            "f64": torch.float64,
        }
        self.kept, self.bytes = {}, 0

    def tensor(self, description):
        key = description["key"]
        if key not in self.kept:
            made = self.make(description)
            self.bytes += made.numel() * made.element_size()
            if self.bytes > self.LIMIT:
                self.kept, self.bytes = {}, made.numel() * made.element_size()
            self.kept[key] = made
        return self.kept[key]

    def make(self, d):
        torch, dtype = self.torch, self.dtypes[d["dtype"]]
        sizes = list(d["tensor"])
        if d["transposed"]:
            sizes[-1], sizes[-2] = sizes[-2], sizes[-1]
        if d["values"] == "integers":
            made = torch.randint(int(d["low"]), int(d["high"]), sizes).to(dtype)
        elif d["values"] == "signs":
            made = (torch.randint(0, 2, sizes) * 2 - 1).to(dtype)
        else:
            made = torch.empty(sizes).uniform_(d["low"], d["high"]).to(dtype)
            if d["values"] == "sorted":
                made = made.sort().values
        return made.transpose(-1, -2) if d["transposed"] else made

    def value(self, v):
        if isinstance(v, (list, tuple)):
            return [self.value(x) for x in v]
        if not isinstance(v, dict):
            return v
        if "as_dtype" in v:
            return self.dtypes[v["as_dtype"]]
        if "slice" in v:
            return slice(*v["slice"])
        return self.tensor(v)

    def prepare(self, name, args, kwargs):
        function = self.torch
        for part in name.split(".")[1:]:
            function = getattr(function, part)
        args, kwargs = [self.value(a) for a in args], {k: self.value(v) for k, v in kwargs.items()}
        if name == "torch.Tensor.__getitem__":
            args[1] = tuple(args[1])
        if name == "torch.index_put":
            args[1] = tuple(args[1])
        if name == "torch.meshgrid":
            args = list(args[0])
        self.call = lambda: function(*args, **kwargs)

    def measure(self, budget):
        clock, call = time.process_time, self.call
        begin = clock()
        call()
        batch = range(max(1, int(1e-4 / max(clock() - begin, 1e-8))))
        best, start, repeats = 1e9, clock(), 0
        while repeats < 2 or best == 1e9 or clock() - start < budget:
            begin = clock()
            for _ in batch:
                call()
            if (elapsed := clock() - begin) > 0:  # the clock may stand still over one short call
                best = min(best, elapsed / len(batch))
            repeats += 1
        return 1e6 * best


def described(value, dtype, transposed):
    """The tensors of an argument with their dtype and layout, and a key by which both programs keep them."""
    if isinstance(value, (list, tuple)):
        return [described(v, dtype, transposed) for v in value]
    if not isinstance(value, dict):
        return value
    if "as_dtype" in value:
        return {"as_dtype": value["as_dtype"] or dtype}
    if "tensor" not in value:
        return value
    out = dict(value)
    out["dtype"] = out["dtype"] or dtype
    out["transposed"] = transposed and not out.pop("stays") and len(out["tensor"]) >= 2
    out.pop("stays", None)
    out["key"] = json.dumps(out)
    return out


def numbered(value, counter):
    """Equal descriptions in one call are different tensors."""
    if isinstance(value, list):
        for v in value:
            numbered(v, counter)
    elif isinstance(value, dict) and "tensor" in value:
        counter[value["key"]] = counter.get(value["key"], 0) + 1
        value["key"] += f" #{counter[value['key']]}"


def geometric_mean(ratios):
    return math.exp(sum(math.log(r) for r in ratios) / len(ratios))


def cases(a):
    import operator_cases

    wanted = a.only.split(",") if a.only else None
    for name, builders in operator_cases.CASES.items():
        if wanted and not any(w == name or w == name.split(".")[-1] for w in wanted):
            continue
        largest = operator_cases.LARGEST.get(name, math.inf)
        for number, build in enumerate(builders):
            for n in a.sizes:
                if n > largest:
                    continue
                spelled = set()
                for dtype in a.dtypes:
                    for layout in a.layouts:
                        args, kwargs, *theirs = build(n)
                        args = described(args, dtype, layout == "transposed")
                        kwargs = {k: described(v, dtype, layout == "transposed") for k, v in kwargs.items()}
                        counter = {}
                        numbered(args, counter)
                        if (text := json.dumps([args, kwargs])) in spelled:
                            continue  # nothing in it depends on the layout, or on the dtype
                        spelled.add(text)
                        yield name, theirs[0] if theirs else name, number, n, dtype, layout, args, kwargs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--sizes")
    parser.add_argument("--dtypes", default="f32,bf16")
    parser.add_argument("--layouts", default="contiguous,transposed")
    parser.add_argument("--seconds", type=float, help="CPU time for each side's repetitions of a case")
    parser.add_argument("--repeats", type=int, default=2, help="how often the sides take turns")
    parser.add_argument("--table")
    a = parser.parse_args()
    a.sizes = [int(float(n)) for n in (a.sizes or ("1e2,1e5" if a.quick else "1e2,1e4,1e6,1e7")).split(",")]
    a.dtypes, a.layouts = a.dtypes.split(","), a.layouts.split(",")
    if a.seconds is None:
        a.seconds = 0.002 if a.quick else 0.004
    if any(os.environ.get(k) != v for k, v in SETTINGS.items()):
        os.environ.update(SETTINGS)
        os.execv(sys.executable, [sys.executable, *sys.argv])
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    ours, theirs = Ours(a.program), Theirs()
    rows, skipped, begin = [], [], time.time()
    current, ratios = None, {}

    def report(name):
        mine = ratios.get(name)
        if mine:
            worst = max(mine, key=lambda r: r[0])
            print(
                f"{name:55} {geometric_mean([r for r, _ in mine]):6.2f}   worst {worst[0]:6.2f}  {worst[1]}", flush=True
            )

    with theirs.torch.inference_mode():
        for name, their_name, number, n, dtype, layout, args, kwargs in cases(a):
            if current not in (None, name):
                report(current)
            current = name
            what = f"{dtype} {layout} {n:.0e} call {number}"
            first = ours.prepare(name, args, kwargs, a.seconds)
            if "error" in first:
                skipped.append((name, what, first["error"]))
                continue
            try:
                theirs.prepare(their_name, args, kwargs)
                reference = theirs.measure(a.seconds)
            except (RuntimeError, TypeError, NotImplementedError) as error:
                skipped.append((name, what, f"PyTorch: {error}".splitlines()[0]))
                continue
            mine = first["us"]
            for _ in range(a.repeats - 1):
                mine = min(mine, ours.again(a.seconds))
                reference = min(reference, theirs.measure(a.seconds))
            ratios.setdefault(name, []).append((mine / reference, what))
            rows.append([name, number, dtype, layout, n, f"{mine:.3f}", f"{reference:.3f}", f"{mine / reference:.3f}"])
    if current:
        report(current)
    if a.table:
        with open(a.table, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["operator", "call", "dtype", "layout", "elements", "fulgurite_us", "pytorch_us", "ratio"])
            writer.writerows(rows)
    for name, what, why in skipped:
        print(f"not measured: {name} {what}: {why}")
    means = {name: geometric_mean([r for r, _ in mine]) for name, mine in ratios.items()}
    everything = [r for mine in ratios.values() for r, _ in mine]
    slow = sorted((mean, name) for name, mean in means.items() if mean > 2)
    print(
        json.dumps(
            {
                "operators": len(means),
                "cases": len(everything),
                "geometric_mean_of_operators": round(geometric_mean(means.values()), 3),
                "geometric_mean_of_cases": round(geometric_mean(everything), 3),
                "operators_above_2": [n for _, n in slow],
                "cases_above_2": sum(r > 2 for r in everything),
                "not_measured": len(skipped),
                "seconds": round(time.time() - begin),
            }
        )
    )
    print(
        "microseconds a call of the C++ functions on 16 elements:",
        json.dumps(ours.ask({"typed": True, "seconds": 0.02})),
    )


if __name__ == "__main__":
    main()
