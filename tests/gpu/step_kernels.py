"""The kernels (and copies) of one training step as the code launches them, with what each computes, reads and writes.
nodes_test.py compares their number with the nodes of the steps that the emulator captures, so whoever changes what a step
launches changes it here, too, and writes the tables of docs/performance.md anew (tables.py)."""
import contextlib
import math
from typing import NamedTuple

# bf16 heads narrower than this go to our own kernels: engine/cuda/sdpa_rules.cpp.
CUDNN_WIDTH, CUDNN_QUERIES, CUDNN_WORKSPACE = 32, 16, 256 << 20
JOINT_WIDTH = 32  # bf16 heads up to this may have their gradient as one kernel
NARROW_WIDTH = 16  # f32 heads up to this have kernels of their own: engine/ops/attention/attention_cuda.h
STORED_BYTES = 256 << 20  # p and ds that the gradient of f32 heads holds at a time: likewise
MOST_JOINED = 120  # sums that one kernel adds: engine/cuda/join.cu


class Kernel(NamedTuple):
    name: str
    bytes: float = 0
    product: tuple = ()      # (m, n, k)
    aligned: bool = True     # whether rows begin at multiples of 16 bytes
    attention: tuple = ()    # (kind, FLOPs, blocks)
    flops: float = 0         # other ones
    exps: float = 0
    aside: bool = False      # whether it is queued on the side stream: engine/side_stream.h
    joins: bool = False      # whether it waits for all that is


def stages_of_columns(rows, columns, chunk=128, enough=512):
    """Kernels that add `rows` rows for each column: engine/cuda/columns.cuh."""
    if rows <= chunk or math.ceil(columns / 32) >= enough:
        return 1
    return 1 + stages_of_columns(math.ceil(rows / chunk), columns)


def stages_of_row(numbers):
    """Kernels that add one row of numbers: engine/cuda/sum.cuh."""
    return 1 if numbers <= 1 << 13 else 1 + stages_of_row(math.ceil(numbers / (1 << 13)))


def padded(numbers, size):
    """Rows of a readout, and of SwiGLU's hidden values, begin at multiples of 16 bytes, and products take them with their
    gaps: engine/ops/linear/linear.cpp."""
    pack = 16 // size
    return numbers if numbers < 64 else -(-numbers // pack) * pack


def chunks_of_columns(rows, width, enough=512, most=128, least=64):
    """Chunks of rows whose sums a kernel leaves for each column in bf16: engine/cuda/bias.cuh."""
    wanted = min(most, max(1, enough // -(-width // (32 * 8))))
    return -(-rows // max(least, -(-rows // wanted)))


def chunks_of_norm(rows, width, most_vectors):
    """The same for the kernel of a norm's gradient: engine/ops/rows/norm_rows.cuh."""
    warps = min(8, max(1, (48 << 10) // (most_vectors * width * 4)))
    wanted = min(512, max(128, (1 << 18) // width))
    chunk = -(-(-(-rows // wanted)) // warps) * warps
    return -(-rows // chunk)


def are_worth_it(m, n, k, copied, is_sum):
    """Whether a product in bf16 takes copies, of so many bytes, with extents of whole packs: engine/cuda/padded_product.cu.
    `is_sum`: a weight's gradient."""
    narrow, work = min(m, n), m * n * k
    if copied > 256 << 20:
        return False
    if is_sum:
        return k >= 512 and work // copied >= 4
    return (narrow >= 8 and (k >= 512 or (k >= 64 and narrow >= 64)) and work >= 1 << 24 and work // copied >= 64)


class Step:
    def __init__(self, c, way):
        self.c, self.way = c, way
        self.size = 2 if way == "bf16" else 4
        self.kernels = []
        self.joined = []  # bytes of each sum of chunks that waits for the step's join
        self.is_aside = False
        self.parameters = 0
        self.tokens, self.width = c["batch"] * c["length"], c["width"]
        self.out = c.get("io") or c.get("classes") or c["vocab"]
        self.out_row = padded(self.out, self.size)
        self.ffn_row = padded(c["ffn"], self.size) if c["activation"] == "swiglu" else c["ffn"]

    def launch(self, name, size, *more, **others):
        self.kernels.append(Kernel(name, size, *more, aside=self.is_aside, **others))

    @contextlib.contextmanager
    def aside(self):
        """What is added meanwhile is queued on the side stream."""
        self.is_aside, before = True, self.is_aside
        yield
        self.is_aside = before

    def add(self, name, numbers=0, other_bytes=0, times=1, **more):
        """A kernel that reads and writes so many numbers of the activations' type; `times`: as many such kernels."""
        for _ in range(times):
            self.launch(name, numbers * self.size + other_bytes, **more)

    def product(self, name, m, n, k, rows, more=0, result=None, odd=()):
        """`rows`: lengths of the operands' rows; `more`: other numbers that it reads; `result`: bytes of each that it
        writes; `odd`: matrices, (numbers, bytes of each), that have no padding in place and whose rows are no whole packs."""
        size = (m * k + k * n + more) * self.size + m * n * (result or self.size)
        aligned = all(row * self.size % 16 == 0 for row in rows)
        copies = [numbers * bytes_each for numbers, bytes_each in odd] if self.way == "bf16" else []
        if copies and are_worth_it(m, n, k, sum(copies), result is not None):
            for copied in copies:
                self.add("padded copy", 0, 2 * copied)
            aligned = True
        self.launch(name, size, (m, n, k), aligned)

    def odd(self, *matrices):
        """Those of (rows, width, bytes of each number) whose width is no multiple of 8."""
        return [(rows * (width + 8 - width % 8), size) for rows, width, size in matrices if width % 8]

    def linear(self, name, rows, into, out, row=0, x_row=0):
        """`row`, `x_row`: from one row of the result, or of x, to the next, where that is not its width: they have padding
        in place. So have weights, for the number of their rows, and biases; beside such an x also in their rows."""
        inner, y = 0 if x_row > into else into, (rows, 0 if row > out else out, 2)
        self.product(name, rows, out, into, (max(x_row, into), max(row, out)),
                     odd=self.odd((rows, inner, 2), (out, inner, 2), y))

    def linear_grads(self, name, rows, into, out, needs_dx=True, adds=False, row=0, x_row=0, has_bias=True, summed=False):
        """The weight's product writes into the arena, in f32, and in f32 gives the bias's gradient, too; `adds`: dx is added
        to what other layers gave x; `summed`: the kernel that made dy has summed its rows."""
        inner, dy = 0 if x_row > into else into, (rows, 0 if row > out else out, 2)
        row, into_row = max(row, out), max(x_row, into)
        with self.aside():
            if has_bias and self.way == "bf16" and not summed:
                chunks = chunks_of_columns(rows, out)
                self.add(name + " bias dW", rows * out, 4 * chunks * out)
                if chunks > 1:
                    self.joined.append(4 * chunks * out)
            self.product(name + " dW", out, into, rows, (into_row, row), result=4,
                         odd=self.odd(dy, (rows, inner, 2), (out, inner, 4)))
        if needs_dx:
            self.product(name + " dx", rows, into, out, (into_row, row), more=rows * into if adds else 0,
                         odd=self.odd(dy, (out, inner, 2), (rows, inner, 2), (rows, inner if adds else 0, 2)))

    def sums_dx(self):
        """Whether kernels sum the rows of what they make, for the bias of the layer before."""
        return self.way == "bf16"

    def norm_grads(self, beside, sums_dx, drops):
        """dx, added to the gradient that goes `beside` the norm, what dropout leaves of it for the branch before, and in
        the same pass sums over rows, also of dx."""
        n = self.tokens * self.width
        most_vectors = 3 if self.c["norm"] == "layernorm" else 2
        vectors = most_vectors if sums_dx else most_vectors - 1
        chunks = 4 * chunks_of_norm(self.tokens, self.width, most_vectors) * self.width
        self.add("norm dx, dW", (3 + beside + (drops and self.c["dropout"] > 0)) * n, vectors * chunks)
        self.joined += [chunks] * vectors

    def is_cudnn(self, backward):
        """By the rules of engine/cuda/sdpa_rules.cpp."""
        c = self.c
        queries, keys = -(-c["length"] // 64) * 64, -(-c["length"] // 128) * 128
        return (self.way == "bf16" and c["dropout"] == 0 and c["head_dim"] >= CUDNN_WIDTH and c["head_dim"] % 8 == 0 and
                c["length"] > CUDNN_QUERIES and (c["batch"] > 1 or c["length"] % 64 == 0) and
                not (backward and c["batch"] * c["heads"] * queries * keys * 2 > CUDNN_WORKSPACE))

    def attention_kind(self, backward):
        c = self.c
        if self.is_cudnn(backward):
            return "cuDNN"
        if self.way == "bf16":
            return "tensor cores"
        if c["head_dim"] <= NARROW_WIDTH:
            return "narrow"
        return "blocks" if c["head_dim"] % 4 == 0 and c["length"] > 64 else "wide"

    def stored_shares(self):
        """Of the heads, for which the gradient of "blocks" keeps p and ds in memory; 0: it is left to "wide"."""
        c = self.c
        head = 8 * c["length"] * -(-c["length"] // 64) * 64
        return math.ceil(c["batch"] * c["heads"] / (STORED_BYTES // head)) if head <= STORED_BYTES else 0

    def joint_groups(self, sms=132, shared=228 << 10):
        """Groups of warps that share a head in the gradient as one kernel, on an H100: attention_joint_grad.cu. 0: it is two
        kernels."""
        c, width = self.c, max(8, 1 << (self.c["head_dim"] - 1).bit_length())
        if self.attention_kind(True) != "tensor cores" or width > JOINT_WIDTH:
            return 0
        queries, row = (64, 8) if width == 8 else (32, width + 8)
        heads, tiles = c["batch"] * c["heads"], math.ceil(c["length"] / 64)
        most = best = 0
        for groups in range(1, min(4, tiles) + 1):
            size = (groups * (256 * row + 8 * queries * row + 256 * (queries + 8)) +
                    math.ceil(c["length"] / queries) * queries * (width + 3) * 4)
            if size > shared - 1024:
                break
            at_once = min(heads, sms * min(4 // groups, shared // (size + 1024))) * tiles // math.ceil(tiles / groups)
            if 8 * at_once > 9 * most:
                most, best = at_once, groups
        return best if 7 * most >= 5 * min(heads * tiles, 4 * sms) else 0

    def attention(self, backward):
        c = self.c
        pairs = self.tokens * c["heads"] * c["length"] / (2 if c["causal"] else 1)
        numbers = self.tokens * c["heads"] * c["head_dim"]
        statistics = self.tokens * c["heads"] * 4
        blocks = c["batch"] * c["heads"] * math.ceil(c["length"] / 64)
        # Tensor cores take heads in powers of two from 16 on.
        width = c["head_dim"]
        if self.way == "bf16":
            width = max(16, 1 << (width - 1).bit_length())
        kind = self.attention_kind(backward)
        shares = self.stored_shares() if backward and kind == "blocks" else 0
        if backward and kind == "blocks" and not shares:
            kind = "wide"

        def one(name, products, tensors, matrices=0, shares=1, blocks=blocks):
            self.launch(name, (tensors * numbers * self.size + statistics + 4 * matrices * pairs) / shares,
                        flops=6 * pairs / shares, exps=pairs / shares,
                        attention=(kind, products * 2 * pairs * width / shares, blocks / shares))
        if not backward:
            one("attention", 2, 4)
        elif kind == "cuDNN":
            one("attention dq dk dv", 5, 8)
        elif groups := self.joint_groups():
            one("attention dq dk dv", 5, 8, blocks=c["batch"] * c["heads"] * groups)
        elif shares:
            self.add("attention delta", 2 * numbers, statistics)
            for _ in range(shares):
                one("attention p ds", 2, 4, 2, shares)
                one("attention dq dk dv", 3, 6, 3, shares)
        else:  # scores and their gradients twice: once for dq, once for dk and dv
            self.add("attention delta", 2 * numbers, statistics)
            one("attention dq", 3, 5)
            one("attention dk dv", 4, 6)

    def block(self):
        c, n, inner = self.c, self.tokens * self.width, self.c["heads"] * self.c["head_dim"]
        gated, ffn = c["activation"] == "swiglu", c["ffn"]
        self.add("norm", 2 * n)
        self.linear("q, k, v", self.tokens, self.width, 3 * inner)
        self.attention(False)
        self.linear("out", self.tokens, inner, self.width)
        self.add("residual and norm", 4 * n)
        for name in ("gate", "up") if gated else ("up",):
            self.linear(name, self.tokens, self.width, ffn, self.ffn_row)
        self.add("activation", (3 if gated else 2) * self.tokens * ffn, exps=self.tokens * ffn)
        self.linear("down", self.tokens, ffn, self.width, x_row=self.ffn_row)
        self.add("residual", 3 * n)
        self.parameters += (4 * self.width * inner + 3 * inner + self.width + (3 if gated else 2) * self.width * ffn +
                            (2 if gated else 1) * ffn + self.width + (4 if c["norm"] == "layernorm" else 2) * self.width)

    def block_grads(self, is_first):
        c, n, inner = self.c, self.tokens * self.width, self.c["heads"] * self.c["head_dim"]
        gated, ffn = c["activation"] == "swiglu", c["ffn"]
        self.linear_grads("down", self.tokens, ffn, self.width, x_row=self.ffn_row, summed=self.sums_dx())
        sums_up = self.way == "bf16" and not gated and ffn % 8 == 0
        chunks = 4 * chunks_of_columns(self.tokens, ffn, 1024, 256, 32) * ffn if sums_up else 0
        self.joined += [chunks] if sums_up else []
        self.add("activation dx", (5 if gated else 3) * self.tokens * ffn, chunks, exps=self.tokens * ffn)
        for name in ("up", "gate") if gated else ("up",):
            self.linear_grads(name, self.tokens, self.width, ffn, adds=name == "gate", row=self.ffn_row, summed=sums_up)
        self.norm_grads(True, self.sums_dx(), True)
        self.linear_grads("out", self.tokens, inner, self.width, summed=self.sums_dx())
        self.attention(True)
        self.linear_grads("q, k, v", self.tokens, self.width, 3 * inner)
        self.norm_grads(True, self.sums_dx() and ("io" in c or not is_first), not is_first)

    def inputs(self):
        c, n = self.c, self.tokens * self.width
        if "io" in c:
            if self.way == "bf16":
                self.add("inputs in bf16", self.tokens * c["io"], 4 * self.tokens * c["io"])
            self.linear("tokens in", self.tokens, c["io"], self.width)
            self.parameters += (c["io"] + 1) * self.width
        else:
            self.add("embedding", 2 * n)
            with self.aside():
                self.add("tokens sorted", 0, 16 * self.tokens, times=1 + 3 * math.ceil(c["vocab"].bit_length() / 8))
            self.parameters += c["vocab"] * self.width
        if c["positions"] == "sinusoidal" and self.way == "bf16":
            self.add("positions in bf16", 0, 6 * c["length"] * self.width)
        self.add("positions", 2 * n)
        if c["positions"] == "learned":
            self.parameters += c["length"] * self.width

    def input_grads(self):
        c, n = self.c, self.tokens * self.width
        if c["positions"] == "learned":
            table = c["length"] * self.width
            if self.way == "bf16":
                self.add("positions' gradient in f32", n, 4 * n)
            stages = 1 if c["batch"] <= 16 else stages_of_columns(c["batch"], table)
            self.add("positions dW", 0, 4 * n, times=1)
            self.add("positions dW, joined", times=stages - 1)
            self.add("gradient into the arena", 0, 8 * table)
        if "io" in c:
            return self.linear_grads("tokens in", self.tokens, c["io"], self.width, needs_dx=False, summed=self.way == "bf16")
        if not c["tied"]:
            self.add("embedding dW, zeros", 0, 4 * c["vocab"] * self.width)
        self.add("embedding dW", n, (8 if c["tied"] else 4) * n)  # into the arena, or added to the head's there
        self.add("embedding dW, joined")

    def loss(self):
        """Loss and its gradient, from the model's output on."""
        c = self.c
        rows = c["batch"] if c["objective"] == "classify" else self.tokens
        n = rows * self.out
        if c["objective"] == "mse":
            chunks = -(-n // 4096)
            self.add("loss", n, 4 * n)
            self.add("sum", 0, 4 * chunks, times=stages_of_row(chunks) if chunks > 1 else 0)
            self.add("loss kept")
            self.add("loss gradient")
            self.add("output dx", 2 * n, 4 * n)
        else:
            self.add("targets counted", 0, 8 * rows, times=2)
            self.add("loss and its gradient", 2 * n, exps=2 * n, aligned=self.out_row * self.size % 16 == 0)
            self.add("sum", 0, 4 * rows, times=stages_of_row(rows))
            self.add("loss kept")
            self.add("loss gradient", times=2)

    def all(self):
        """The whole step, in its order."""
        c, n = self.c, self.tokens * self.width
        classify = c["objective"] == "classify"
        self.add("step begins")
        self.inputs()
        for _ in range(c["layers"]):
            self.block()
        self.add("norm", 2 * n)
        rows = c["batch"] if classify else self.tokens
        if classify:
            stages = 1 if c["length"] <= 16 else stages_of_columns(c["length"], c["batch"] * self.width)
            self.add("mean over tokens", n)
            self.add("mean over tokens, joined", times=stages)
        self.linear("head", rows, self.width, self.out, self.out_row)
        self.loss()
        self.linear_grads("head", rows, self.width, self.out, row=self.out_row, has_bias=not c["tied"])
        if classify:
            self.add("mean over tokens dx", n, times=2)
        self.norm_grads(False, self.sums_dx(), True)
        for i in reversed(range(c["layers"])):
            self.block_grads(i == 0)
        with self.aside():
            self.input_grads()
        for first in range(0, len(self.joined), MOST_JOINED):
            self.add("joined", 0, sum(self.joined[first:first + MOST_JOINED]), joins=True)
        self.parameters += 2 * self.width if c["norm"] == "layernorm" else self.width
        self.parameters += 0 if c["tied"] else (self.width + 1) * self.out
        # Masters, two moments and the gradient are read, all but the gradient written; a copy in bf16 for the products.
        self.add("AdamW", 0, (28 + (2 if self.way == "bf16" else 0)) * self.parameters, joins=True)
        self.add("step ends")
        return self.kernels
