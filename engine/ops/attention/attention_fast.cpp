#include "engine/ops/attention/attention_fast.h"

#include "engine/ops/attention/attention_lanes_kernel.h"
#include "engine/parallel.h"
#include "engine/quantized/dequantize_kernel.h"

namespace headroom::engine {
namespace {

/// The row of sequence b, head h, token 0 of x (B, T, H, d).
const float* row(const Tensor& x, int64_t b, int64_t h) {
  return x.data<float>() + b * x.strides()[0] + h * x.strides()[2];
}

/// Sequence b's key-value head `kv_head` for the kernels.
AttentionHead head_of(const AttentionProblem& p, const Tensor& q, const Tensor& k, const Tensor& v,
                      const Tensor& slopes, int64_t b, int64_t kv_head) {
  AttentionHead head = attention_head(p, slopes, b, kv_head);
  head.q = row(q, b, kv_head * p.group());
  head.k = row(k, b, kv_head);
  head.v = row(v, b, kv_head);
  head.q_stride = q.strides()[1];
  head.q_head_stride = q.strides()[2];
  head.k_stride = k.strides()[1];
  head.v_stride = v.strides()[1];
  return head;
}

/// The first rows of a key-value head's group in y (B, Tq, H, d_v) and lse (B, H, Tq).
struct HeadRows {
  float *y, *lse;
  HeadRows(const AttentionProblem& p, const Attention& out, int64_t b, int64_t kv_head)
      : y(out.y.mutable_data<float>() + (b * p.queries * p.heads + kv_head * p.group()) * p.v_dim),
        lse(out.lse.mutable_data<float>() + (b * p.heads + kv_head * p.group()) * p.queries) {}
};

/// The kernels' operands: heads' rows in one piece, slopes contiguous.
void lay_out(AttentionCall& c) {
  c.q = with_whole_rows(c.q), c.k = with_whole_rows(c.k), c.v = with_whole_rows(c.v);
  if (c.slopes.defined()) c.slopes = c.slopes.contiguous();
}

}  // namespace

float* attention_memory(int64_t floats) {
  thread_local std::vector<float> memory;
  constexpr size_t line = 64 / sizeof(float);
  if (memory.size() < static_cast<size_t>(floats) + line) memory.resize(static_cast<size_t>(floats) + line);
  const auto past = reinterpret_cast<uintptr_t>(memory.data()) % 64 / sizeof(float);
  return memory.data() + (line - past) % line;
}

int64_t attention_tasks_at_once(const AttentionProblem& p, int64_t rows, int64_t keys) {
  const int64_t work = rows * std::max<int64_t>(1, keys) * (p.qk_dim + p.v_dim);
  return std::max<int64_t>(1, (1 << 16) / std::max<int64_t>(1, work));
}

AttentionHead attention_head(const AttentionProblem& p, const Tensor& slopes, int64_t b, int64_t kv_head) {
  const int64_t first = kv_head * p.group();
  return {.q = nullptr,
          .k = nullptr,
          .v = nullptr,
          .q_stride = p.group() * p.qk_dim,
          .q_head_stride = p.qk_dim,
          .k_stride = p.qk_dim,
          .v_stride = p.v_dim,
          .y_stride = p.heads * p.v_dim,
          .queries = p.queries,
          .keys = p.keys,
          .qk_dim = p.qk_dim,
          .v_dim = p.v_dim,
          .group = p.group(),
          .causal = p.causal,
          .window = p.window,
          .scale = static_cast<float>(p.scale),
          .key_mask = p.mask(b),
          .slopes = slopes.defined() ? slopes.data<float>() + first : nullptr,
          .dropout = p.dropout > 0,
          .dropped_below = p.dropped_below(),
          .kept_scale = static_cast<float>(1 / (1 - p.dropout)),
          .seed = p.dropout_key.seed,
          .first_index = p.dropout_key.first() +
                         static_cast<uint64_t>((b * p.heads + first) * p.queries) * static_cast<uint64_t>(p.keys),
          .stream = p.dropout_key.stream};
}

AttentionCut::AttentionCut(const AttentionProblem& p)
    // Few heads: their queries are cut, and each piece packs the keys again.
    : piece(p.batch * p.heads < 32 ? 64 : 1024), pieces((p.queries + piece - 1) / piece), together(p.group()) {
  // Heads of one group share packed operands, unless that leaves too little to do in parallel.
  while (together > 1 && p.batch * p.kv_heads * ((p.group() + together - 1) / together) * pieces < 16)
    together = (together + 1) / 2;
  shares = (p.group() + together - 1) / together;
  tasks = p.batch * p.kv_heads * shares * pieces;
}

namespace {

/// Few queries: chunks of keys side by side, then joined. `head_at(b, kv_head)` lays out a head; `part_of` computes
/// what its keys [j, end) give, with memory of `floats`.
void few_of(const AttentionProblem& p, const Attention& out, const auto& head_at, int64_t floats, const auto& part_of) {
  const int64_t first_key = p.first(0), seen = p.keys - first_key, rows = p.group() * p.queries;
  const int64_t chunks = (seen + attention_chunk - 1) / attention_chunk;
  const int64_t part = kernel::attention_part(head_at(0, 0));
  const Tensor parts = Tensor::empty({p.batch, p.kv_heads, chunks, part});
  float* const first_part = parts.mutable_data<float>();
  parallel_for(p.batch * p.kv_heads * chunks, attention_tasks_at_once(p, rows, std::min(seen, attention_chunk)),
               [&](int64_t task) {
                 const int64_t b = task / chunks / p.kv_heads, kv_head = task / chunks % p.kv_heads;
                 const int64_t j = first_key + task % chunks * attention_chunk;
                 part_of(b, kv_head, j, std::min(j + attention_chunk, p.keys), first_part + task * part,
                         attention_memory(floats));
               });
  parallel_for(p.batch * p.kv_heads, attention_tasks_at_once(p, rows, chunks), [&](int64_t task) {
    const int64_t b = task / p.kv_heads, kv_head = task % p.kv_heads;
    const HeadRows to(p, out, b, kv_head);
    kernel::attention_join(head_at(b, kv_head), first_part + task * chunks * part, chunks, to.y, to.lse);
  });
}

/// The first block of sequence b's key-value head.
const uint8_t* blocks_of(const PackedRows& rows, int64_t b, int64_t kv_head) {
  const auto& strides = rows.bytes.strides();
  return rows.bytes.data<uint8_t>() + b * strides[0] + kv_head * strides[2];
}

/// The numbers of rows [j, end) of a head, into `to`; returns what follows them there.
float* unpack_head(const PackedRows& rows, int64_t b, int64_t kv_head, int64_t j, int64_t end, float* to) {
  const int64_t stride = rows.bytes.strides()[1], blocks = rows.dim / traits_of(rows.format).elements;
  const uint8_t* from = blocks_of(rows, b, kv_head) + j * stride;
  for (; j < end; ++j, from += stride, to += rows.dim) kernel::dequantize_blocks(rows.format, from, blocks, to);
  return to;
}

}  // namespace

void attention_tiled(AttentionCall& c) {
  lay_out(c);
  const AttentionProblem& p = c.problem;
  const AttentionCut cut(p);
  parallel_for(
      cut.tasks, attention_tasks_at_once(p, cut.together * std::min(cut.piece, p.queries), p.keys), [&](int64_t task) {
        const auto [b, kv_head, g, i] = cut.at(p, task);
        const AttentionHead head = head_of(p, c.q, c.k, c.v, c.slopes, b, kv_head);
        const HeadRows to(p, c.out, b, kv_head);
        kernel::attention_forward(head, g, std::min(g + cut.together, p.group()), i, std::min(i + cut.piece, p.queries),
                                  to.y, to.lse, attention_memory(kernel::attention_scratch(head)));
      });
}

bool few_queries(const AttentionProblem& p) {
  return p.queries <= kernel::attention_few_queries() && p.keys > p.queries && p.dropout == 0;
}

void attention_few(AttentionCall& c) {
  lay_out(c);
  const AttentionProblem& p = c.problem;
  const auto head_at = [&](int64_t b, int64_t kv_head) { return head_of(p, c.q, c.k, c.v, c.slopes, b, kv_head); };
  few_of(p, c.out, head_at, kernel::attention_chunk_scratch(head_at(0, 0)),
         [&](int64_t b, int64_t kv_head, int64_t j, int64_t end, float* part, float* memory) {
           kernel::attention_chunk_part(head_at(b, kv_head), j, end, part, memory);
         });
}

void packed_attention_few(PackedAttentionCall& c) {
  c.q = with_whole_rows(c.q);
  if (c.slopes.defined()) c.slopes = c.slopes.contiguous();
  const AttentionProblem& p = c.problem;
  const auto head_at = [&](int64_t b, int64_t kv_head) {
    AttentionHead head = head_of(p, c.q, c.q, c.q, c.slopes, b, kv_head);
    head.k = head.v = nullptr, head.k_stride = p.qk_dim, head.v_stride = p.v_dim;
    return head;
  };
  const int64_t floats = kernel::attention_chunk_scratch(head_at(0, 0)), width = kernel::attention_packed_width();
  if (c.k.format == c.v.format && p.qk_dim >= width && p.v_dim >= width) {
    few_of(p, c.out, head_at, floats,
           [&](int64_t b, int64_t kv_head, int64_t j, int64_t end, float* part, float* memory) {
             const PackedHead packed{blocks_of(c.k, b, kv_head), blocks_of(c.v, b, kv_head), c.k.bytes.strides()[1],
                                     c.v.bytes.strides()[1], c.k.format};
             kernel::attention_packed_part(head_at(b, kv_head), packed, j, end, part, memory);
           });
    return;
  }
  // Heads narrower than a vector, or keys and values in two formats: each chunk is unpacked where it is multiplied.
  few_of(p, c.out, head_at, floats + attention_chunk * (p.qk_dim + p.v_dim),
         [&](int64_t b, int64_t kv_head, int64_t j, int64_t end, float* part, float* memory) {
           AttentionHead head = head_at(b, kv_head);
           float* const keys = memory + floats;
           float* const values = unpack_head(c.k, b, kv_head, j, end, keys);
           unpack_head(c.v, b, kv_head, j, end, values);
           head.k = keys, head.v = values, head.first_row = j;
           kernel::attention_chunk_part(head, j, end, part, memory);
         });
}

void attention_grad_tiled(AttentionGradCall& c) {
  const AttentionProblem& p = c.problem;
  parallel_for(p.batch * p.kv_heads, attention_tasks_at_once(p, p.queries * p.group(), p.keys), [&](int64_t task) {
    const int64_t b = task / p.kv_heads, kv_head = task % p.kv_heads;
    const int64_t first = b * p.heads + kv_head * p.group();
    const AttentionHead head = head_of(p, c.q, c.k, c.v, c.slopes, b, kv_head);
    const HeadRows from(p, c.forward, b, kv_head);
    const AttentionHeadGrad grad{.dy = row(c.dy, b, kv_head * p.group()),
                                 .y = from.y,
                                 .lse = from.lse,
                                 .dq = c.dq.mutable_data<float>() + (head.q - c.q.data<float>()),
                                 .dk = c.dk.mutable_data<float>() + (head.k - c.k.data<float>()),
                                 .dv = c.dv.mutable_data<float>() + (head.v - c.v.data<float>()),
                                 .dslopes = c.slopes.defined() ? c.dslopes.mutable_data<float>() + first : nullptr};
    kernel::attention_backward(head, grad, attention_memory(kernel::attention_grad_scratch(head)));
  });
}

namespace {

/// `run(operands, first pair, pairs)` for the pairs of sequences and key-value heads that fill one vector.
void by_lanes(const AttentionProblem& p, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& slopes,
              const auto& run) {
  const AttentionPairs all{head_of(p, q, k, v, slopes, 0, 0),
                           p.kv_heads,
                           q.strides()[0],
                           k.strides()[0],
                           v.strides()[0],
                           k.strides()[2],
                           v.strides()[2]};
  const int64_t lanes = kernel::attention_lanes(), pairs = p.batch * p.kv_heads;
  parallel_for((pairs + lanes - 1) / lanes, attention_tasks_at_once(p, p.queries * p.group() * lanes, p.keys),
               [&](int64_t task) {
                 run(all, task * lanes, std::min(lanes, pairs - task * lanes),
                     attention_memory(kernel::attention_lanes_scratch(all.first)));
               });
}

}  // namespace

bool fills_lanes(const AttentionProblem& p) {
  // Measured on Zen 3: up to here, while keys and values stay in the second-level cache, a head takes 0.15 to 0.93 of
  // its time by tiles. Few heads would leave lanes, or threads, without work.
  const int64_t lanes = kernel::attention_lanes(), limit = p.causal ? 4 : 3;
  return p.dropout == 0 && std::max(p.queries, p.keys) <= 16 * limit &&
         p.keys * (p.qk_dim + p.v_dim) * lanes <= limit << 13 && p.batch * p.kv_heads >= 4 * lanes;
}

void attention_by_lanes(AttentionCall& c) {
  lay_out(c);
  float *const y = c.out.y.mutable_data<float>(), *const lse = c.out.lse.mutable_data<float>();
  by_lanes(c.problem, c.q, c.k, c.v, c.slopes,
           [&](const AttentionPairs& all, int64_t first, int64_t count, float* memory) {
             kernel::attention_lanes_forward(all, first, count, y, lse, memory);
           });
}

void attention_grad_by_lanes(AttentionGradCall& c) {
  const AttentionHeadGrad grad{.dy = c.dy.data<float>(),
                               .y = c.forward.y.data<float>(),
                               .lse = c.forward.lse.data<float>(),
                               .dq = c.dq.mutable_data<float>(),
                               .dk = c.dk.mutable_data<float>(),
                               .dv = c.dv.mutable_data<float>(),
                               .dslopes = c.slopes.defined() ? c.dslopes.mutable_data<float>() : nullptr};
  by_lanes(c.problem, c.q, c.k, c.v, c.slopes,
           [&](const AttentionPairs& all, int64_t first, int64_t count, float* memory) {
             kernel::attention_lanes_backward(all, grad, first, count, memory);
           });
}

}  // namespace headroom::engine
