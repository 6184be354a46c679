#include "engine/cpu/halves_kernel.h"
#include "engine/ops/attention/attention_bf16_kernel.h"
#include "engine/ops/attention/attention_fast.h"
#include "engine/parallel.h"

namespace headroom::engine {
namespace {

/// Element (b, 0, head, 0) of x (B, T, H, d) as bits: of a call's results, too, which are written there.
uint16_t* bits_at(const Tensor& x, int64_t b, int64_t head) {
  return &const_cast<bf16*>(x.data<bf16>() + b * x.strides()[0] + head * x.strides()[2])->bits;
}

AttentionHalves halves_of(const Tensor& q, const Tensor& k, const Tensor& v, int64_t b, int64_t head, int64_t kv_head) {
  return {bits_at(q, b, head), bits_at(k, b, kv_head), bits_at(v, b, kv_head)};
}

/// Sets the strides to those of the tensors that hold the head's rows.
void set_strides(AttentionHead& head, const Tensor& q, const Tensor& k, const Tensor& v) {
  head.q_stride = q.strides()[1];
  head.q_head_stride = q.strides()[2];
  head.k_stride = k.strides()[1];
  head.v_stride = v.strides()[1];
}

/// Rows of `count` heads that follow one another in a tensor (B, T, H, d).
struct HalfRows {
  uint16_t* first;
  int64_t stride, heads, head_stride, dim;

  HalfRows(const Tensor& x, int64_t b, int64_t head, int64_t count)
      : first(bits_at(x, b, head)), stride(x.strides()[1]), heads(count), head_stride(x.strides()[2]), dim(x.dim(3)) {
    if (head_stride != dim) return;
    dim *= heads;  // as one wide head
    heads = 1;
  }

  int64_t width() const { return heads * dim; }
  /// Tokens [begin, end) in f32: `to` is where token 0 of head 0 goes, tokens width() apart.
  void widen(int64_t begin, int64_t end, float* to) const {
    to += begin * width();
    if (heads == 1) return kernel::widen_rows(first + begin * stride, stride, end - begin, dim, to);
    for (int64_t t = begin; t < end; ++t, to += width())
      kernel::widen_rows(first + t * stride, head_stride, heads, dim, to);
  }
  void narrow(const float* from, int64_t begin, int64_t end) const {
    from += begin * width();
    if (heads == 1) return kernel::narrow_rows(from, first + begin * stride, stride, end - begin, dim);
    for (int64_t t = begin; t < end; ++t, from += width())
      kernel::narrow_rows(from, first + t * stride, head_stride, heads, dim);
  }
};

/// Pieces of a thread's memory.
struct Pieces {
  float* memory;
  float* take(int64_t n) {
    float* const piece = memory;
    memory += rounded(n);
    return piece;
  }
  static int64_t rounded(int64_t n) { return (n + 15) / 16 * 16; }
};

/// So many key-value heads are widened at once: narrow ones together, since a row of four numbers costs as much as one
/// of sixteen.
int64_t heads_at_once(const AttentionProblem& p) {
  int64_t n = 1;
  while (p.kv_heads % (2 * n) == 0 && 2 * n * std::max(p.qk_dim, p.v_dim) <= 32) n *= 2;
  return n;
}

/// Floats of q, k, v and y of those heads.
int64_t widened_floats(const AttentionProblem& p) {
  const int64_t n = heads_at_once(p);
  return Pieces::rounded(p.queries * n * p.group() * p.qk_dim) + Pieces::rounded(p.keys * n * p.qk_dim) +
         Pieces::rounded(p.keys * n * p.v_dim) + Pieces::rounded(p.queries * n * p.group() * p.v_dim);
}

/// Key-value head `kv_head` of the n whose widened rows lie together.
AttentionHead widened_head(const AttentionProblem& p, const Tensor& slopes, int64_t b, int64_t kv_head, int64_t n) {
  AttentionHead head = attention_head(p, slopes, b, kv_head);
  head.q_stride = n * p.group() * p.qk_dim, head.y_stride = n * p.group() * p.v_dim;
  head.k_stride = n * p.qk_dim, head.v_stride = n * p.v_dim;
  return head;
}

/// Floats of the lse that comes with it where a gradient computes y again.
int64_t lse_floats(const AttentionProblem& p) { return Pieces::rounded(p.group() * p.queries); }

}  // namespace

void attention_widened(AttentionCall& c) {
  c.q = with_whole_rows(c.q), c.k = with_whole_rows(c.k), c.v = with_whole_rows(c.v);
  const AttentionProblem& p = c.problem;
  const Tensor slopes = c.slopes.defined() ? c.slopes.contiguous().to(DType::f32) : Tensor();
  const int64_t together = heads_at_once(p), blocks = p.kv_heads / together, group = p.group();
  // Few heads: their queries are cut, and each piece widens and packs the keys again.
  const int64_t piece = p.batch * p.kv_heads < 32 ? 64 : 1024, pieces = (p.queries + piece - 1) / piece;
  parallel_for(p.batch * blocks * pieces,
               attention_tasks_at_once(p, together * group * std::min(piece, p.queries), p.keys), [&](int64_t task) {
                 const int64_t i = task % pieces * piece, last = std::min(i + piece, p.queries);
                 const int64_t b = task / pieces / blocks, kv = task / pieces % blocks * together;
                 const int64_t own = widened_floats(p);
                 Pieces f32{attention_memory(own + kernel::attention_scratch(attention_head(p, slopes, b, kv)))};
                 float* const q = f32.take(p.queries * together * group * p.qk_dim);
                 float* const k = f32.take(p.keys * together * p.qk_dim);
                 float* const v = f32.take(p.keys * together * p.v_dim);
                 float* const y = f32.take(p.queries * together * group * p.v_dim);
                 HalfRows(c.q, b, kv * group, together * group).widen(i, last, q);
                 HalfRows(c.k, b, kv, together).widen(0, p.visible(last - 1), k);
                 HalfRows(c.v, b, kv, together).widen(0, p.visible(last - 1), v);
                 for (int64_t h = 0; h < together; ++h) {
                   AttentionHead head = widened_head(p, slopes, b, kv + h, together);
                   head.q = q + h * group * p.qk_dim, head.k = k + h * p.qk_dim, head.v = v + h * p.v_dim;
                   float* const lse = c.out.lse.mutable_data<float>() + (b * p.heads + (kv + h) * group) * p.queries;
                   kernel::attention_forward(head, 0, group, i, last, y + h * group * p.v_dim, lse, f32.memory);
                 }
                 HalfRows(c.out.y, b, kv * group, together * group).narrow(y, i, last);
               });
}

/// A slope's gradient is Σ ds · distance, in which ds, whose sum over the keys is 0, would carry the rounding of y as
/// far as the keys are away: with slopes y is computed once more, in f32.
void attention_grad_widened(AttentionGradCall& c) {
  const AttentionProblem& p = c.problem;
  const Tensor slopes = c.slopes.defined() ? c.slopes.to(DType::f32) : Tensor();
  const int64_t together = heads_at_once(p), blocks = p.kv_heads / together, group = p.group();
  parallel_for(p.batch * blocks, attention_tasks_at_once(p, together * p.queries * group, p.keys), [&](int64_t task) {
    const int64_t b = task / blocks, kv = task % blocks * together, heads = together * group;
    const int64_t queries = p.queries * heads * p.qk_dim, values = p.queries * heads * p.v_dim;
    const AttentionHead any = attention_head(p, slopes, b, kv);
    const int64_t scratch = std::max(kernel::attention_grad_scratch(any),
                                     slopes.defined() ? lse_floats(p) + kernel::attention_scratch(any) : int64_t{0});
    Pieces f32{attention_memory(2 * widened_floats(p) + scratch)};
    const auto widened = [&](const Tensor& x, int64_t from, int64_t count, int64_t floats) {
      float* const to = f32.take(floats);
      HalfRows(x, b, from, count).widen(0, x.dim(1), to);
      return to;
    };
    const float* const q = widened(c.q, kv * group, heads, queries);
    const float* const k = widened(c.k, kv, together, p.keys * together * p.qk_dim);
    const float* const v = widened(c.v, kv, together, p.keys * together * p.v_dim);
    float* const y = widened(c.forward.y, kv * group, heads, values);
    const float* const dy = widened(c.dy, kv * group, heads, values);
    float* const dq = f32.take(queries);
    float *const dk = f32.take(p.keys * together * p.qk_dim), *const dv = f32.take(p.keys * together * p.v_dim);
    for (int64_t h = 0; h < together; ++h) {
      const int64_t first = (kv + h) * group;
      AttentionHead head = widened_head(p, slopes, b, kv + h, together);
      head.q = q + h * group * p.qk_dim, head.k = k + h * p.qk_dim, head.v = v + h * p.v_dim;
      if (slopes.defined()) {
        Pieces rest = f32;
        float* const lse = rest.take(lse_floats(p));
        kernel::attention_forward(head, 0, group, 0, p.queries, y + h * group * p.v_dim, lse, rest.memory);
      }
      const AttentionHeadGrad grad{
          .dy = dy + h * group * p.v_dim,
          .y = y + h * group * p.v_dim,
          .lse = c.forward.lse.data<float>() + (b * p.heads + first) * p.queries,
          .dq = dq + h * group * p.qk_dim,
          .dk = dk + h * p.qk_dim,
          .dv = dv + h * p.v_dim,
          .dslopes = slopes.defined() ? c.dslopes.mutable_data<float>() + b * p.heads + first : nullptr};
      kernel::attention_backward(head, grad, f32.memory);
    }
    HalfRows(c.dq, b, kv * group, heads).narrow(dq, 0, p.queries);
    HalfRows(c.dk, b, kv, together).narrow(dk, 0, p.keys);
    HalfRows(c.dv, b, kv, together).narrow(dv, 0, p.keys);
  });
}

bool takes_pairs(const AttentionCall& call) { return call.problem.qk_dim > 4 && call.problem.v_dim > 4; }
bool takes_pairs_grad(const AttentionGradCall& call) {
  return call.problem.qk_dim > 4 && call.problem.v_dim > 4 && !call.slopes.defined();
}

void attention_pairs(AttentionCall& c) {
  c.q = with_whole_rows(c.q), c.k = with_whole_rows(c.k), c.v = with_whole_rows(c.v);
  const AttentionProblem& p = c.problem;
  const Tensor slopes = c.slopes.defined() ? c.slopes.contiguous().to(DType::f32) : Tensor();
  const AttentionCut cut(p);
  parallel_for(cut.tasks, attention_tasks_at_once(p, cut.together * std::min(cut.piece, p.queries), p.keys),
               [&](int64_t task) {
                 const auto [b, kv_head, g, i] = cut.at(p, task);
                 AttentionHead head = attention_head(p, slopes, b, kv_head);
                 set_strides(head, c.q, c.k, c.v);
                 const int64_t first = kv_head * p.group();
                 const AttentionHalves in = halves_of(c.q, c.k, c.v, b, first, kv_head);
                 kernel::attention_bf16_forward(head, in, g, std::min(g + cut.together, p.group()), i,
                                                std::min(i + cut.piece, p.queries), bits_at(c.out.y, b, first),
                                                c.out.lse.mutable_data<float>() + (b * p.heads + first) * p.queries,
                                                attention_memory(kernel::attention_bf16_scratch(head)));
               });
}

void attention_grad_pairs(AttentionGradCall& c) {
  const AttentionProblem& p = c.problem;
  parallel_for(p.batch * p.kv_heads, attention_tasks_at_once(p, p.queries * p.group(), p.keys), [&](int64_t task) {
    const int64_t b = task / p.kv_heads, kv_head = task % p.kv_heads, first = kv_head * p.group();
    AttentionHead head = attention_head(p, Tensor(), b, kv_head);
    set_strides(head, c.q, c.k, c.v);
    const AttentionHalvesGrad grad{.dy = bits_at(c.dy, b, first),
                                   .y = bits_at(c.forward.y, b, first),
                                   .lse = c.forward.lse.data<float>() + (b * p.heads + first) * p.queries,
                                   .dq = bits_at(c.dq, b, first),
                                   .dk = bits_at(c.dk, b, kv_head),
                                   .dv = bits_at(c.dv, b, kv_head)};
    kernel::attention_bf16_backward(head, halves_of(c.q, c.k, c.v, b, first, kv_head), grad,
                                    attention_memory(kernel::attention_bf16_grad_scratch(head)));
  });
}

}  // namespace headroom::engine
