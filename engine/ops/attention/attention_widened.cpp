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

/// Those of the tensors that the head's rows are read from.
void set_strides(AttentionHead& head, const Tensor& q, const Tensor& k, const Tensor& v) {
  head.q_stride = q.strides()[1];
  head.q_head_stride = q.strides()[2];
  head.k_stride = k.strides()[1];
  head.v_stride = v.strides()[1];
}

/// Rows of one key-value head's query heads, or of the key-value head itself, in a tensor (B, T, H, d).
struct HalfRows {
  uint16_t* first;
  int64_t stride, heads, head_stride, dim;

  HalfRows(const Tensor& x, int64_t b, int64_t head, int64_t count)
      : first(bits_at(x, b, head)), stride(x.strides()[1]), heads(count), head_stride(x.strides()[2]), dim(x.dim(3)) {}

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

/// Floats of one head's q, k, v and y.
int64_t widened_floats(const AttentionProblem& p) {
  return Pieces::rounded(p.queries * p.group() * p.qk_dim) + Pieces::rounded(p.keys * p.qk_dim) +
         Pieces::rounded(p.keys * p.v_dim) + Pieces::rounded(p.queries * p.group() * p.v_dim);
}

/// Floats of the lse that comes with it where a gradient computes y again.
int64_t lse_floats(const AttentionProblem& p) { return Pieces::rounded(p.group() * p.queries); }

}  // namespace

void attention_widened(AttentionCall& c) {
  c.q = with_whole_rows(c.q), c.k = with_whole_rows(c.k), c.v = with_whole_rows(c.v);
  const AttentionProblem& p = c.problem;
  const Tensor slopes = c.slopes.defined() ? c.slopes.contiguous().to(DType::f32) : Tensor();
  // Few heads: their queries are cut, and each piece widens and packs the keys again.
  const int64_t piece = p.batch * p.kv_heads < 32 ? 64 : 1024, pieces = (p.queries + piece - 1) / piece;
  parallel_ranges(
      p.batch * p.kv_heads * pieces, attention_tasks_at_once(p, p.group() * std::min(piece, p.queries), p.keys),
      [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task) {
          const int64_t i = task % pieces * piece, last = std::min(i + piece, p.queries);
          const int64_t b = task / pieces / p.kv_heads, kv_head = task / pieces % p.kv_heads;
          AttentionHead head = attention_head(p, slopes, b, kv_head);
          head.y_stride = p.group() * p.v_dim;
          const int64_t own = widened_floats(p);
          Pieces f32{attention_memory(own + kernel::attention_scratch(head))};
          float* const q = f32.take(p.queries * p.group() * p.qk_dim);
          float *const k = f32.take(p.keys * p.qk_dim), *const v = f32.take(p.keys * p.v_dim);
          float* const y = f32.take(p.queries * p.group() * p.v_dim);
          HalfRows(c.q, b, kv_head * p.group(), p.group()).widen(i, last, q);
          HalfRows(c.k, b, kv_head, 1).widen(0, p.visible(last - 1), k);
          HalfRows(c.v, b, kv_head, 1).widen(0, p.visible(last - 1), v);
          head.q = q, head.k = k, head.v = v;
          float* const lse = c.out.lse.mutable_data<float>() + (b * p.heads + kv_head * p.group()) * p.queries;
          kernel::attention_forward(head, 0, p.group(), i, last, y, lse, f32.memory);
          HalfRows(c.out.y, b, kv_head * p.group(), p.group()).narrow(y, i, last);
        }
      });
}

/// A slope's gradient is Σ ds · distance, in which ds, whose sum over the keys is 0, would carry the rounding of y as
/// far as the keys are away: with slopes y is computed once more, in f32.
void attention_grad_widened(AttentionGradCall& c) {
  const AttentionProblem& p = c.problem;
  const Tensor slopes = c.slopes.defined() ? c.slopes.to(DType::f32) : Tensor();
  parallel_ranges(
      p.batch * p.kv_heads, attention_tasks_at_once(p, p.queries * p.group(), p.keys), [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task) {
          const int64_t b = task / p.kv_heads, kv_head = task % p.kv_heads, first = kv_head * p.group();
          AttentionHead head = attention_head(p, slopes, b, kv_head);
          head.y_stride = p.group() * p.v_dim;
          const int64_t queries = p.queries * p.group() * p.qk_dim, values = p.queries * p.group() * p.v_dim;
          const int64_t scratch =
              std::max(kernel::attention_grad_scratch(head),
                       slopes.defined() ? lse_floats(p) + kernel::attention_scratch(head) : int64_t{0});
          Pieces f32{attention_memory(2 * widened_floats(p) + scratch)};
          const auto widened = [&](const Tensor& x, int64_t from, int64_t count, int64_t floats) {
            float* const to = f32.take(floats);
            HalfRows(x, b, from, count).widen(0, x.dim(1), to);
            return to;
          };
          head.q = widened(c.q, first, p.group(), queries);
          head.k = widened(c.k, kv_head, 1, p.keys * p.qk_dim);
          head.v = widened(c.v, kv_head, 1, p.keys * p.v_dim);
          float* const y = widened(c.forward.y, first, p.group(), values);
          if (slopes.defined()) {
            Pieces rest = f32;
            float* const lse = rest.take(lse_floats(p));
            kernel::attention_forward(head, 0, p.group(), 0, p.queries, y, lse, rest.memory);
          }
          const AttentionHeadGrad grad{
              .dy = widened(c.dy, first, p.group(), values),
              .y = y,
              .lse = c.forward.lse.data<float>() + (b * p.heads + first) * p.queries,
              .dq = f32.take(queries),
              .dk = f32.take(p.keys * p.qk_dim),
              .dv = f32.take(p.keys * p.v_dim),
              .dslopes = slopes.defined() ? c.dslopes.mutable_data<float>() + b * p.heads + first : nullptr};
          kernel::attention_backward(head, grad, f32.memory);
          HalfRows(c.dq, b, first, p.group()).narrow(grad.dq, 0, p.queries);
          HalfRows(c.dk, b, kv_head, 1).narrow(grad.dk, 0, p.keys);
          HalfRows(c.dv, b, kv_head, 1).narrow(grad.dv, 0, p.keys);
        }
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
  parallel_ranges(cut.tasks, attention_tasks_at_once(p, cut.together * std::min(cut.piece, p.queries), p.keys),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t task = begin; task < end; ++task) {
                      const auto [b, kv_head, g, i] = cut.at(p, task);
                      AttentionHead head = attention_head(p, slopes, b, kv_head);
                      set_strides(head, c.q, c.k, c.v);
                      const int64_t first = kv_head * p.group();
                      const AttentionHalves in = halves_of(c.q, c.k, c.v, b, first, kv_head);
                      kernel::attention_bf16_forward(
                          head, in, g, std::min(g + cut.together, p.group()), i, std::min(i + cut.piece, p.queries),
                          bits_at(c.out.y, b, first),
                          c.out.lse.mutable_data<float>() + (b * p.heads + first) * p.queries,
                          attention_memory(kernel::attention_bf16_scratch(head)));
                    }
                  });
}

void attention_grad_pairs(AttentionGradCall& c) {
  const AttentionProblem& p = c.problem;
  parallel_ranges(
      p.batch * p.kv_heads, attention_tasks_at_once(p, p.queries * p.group(), p.keys), [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task) {
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
        }
      });
}

}  // namespace headroom::engine
