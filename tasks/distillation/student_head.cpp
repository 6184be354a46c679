#include "tasks/distillation/student_head.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "autograd/ops.h"
#include "engine/error.h"
#include "engine/ops/matmul/matmul.h"
#include "engine/ops/operators.h"
#include "engine/ops/sum/sum.h"
#include "tasks/theory/low_rank_logits.h"

namespace headroom::tasks {
namespace {

using autograd::Var;
using engine::DType;
using engine::Tensor;

Var leaf(const Tensor& x) { return x.defined() ? Var(x.to(DType::f32).contiguous(), true) : Var(); }
Var frozen(const Tensor& x) { return x.defined() ? Var(x.to(DType::f32).contiguous()) : Var(); }

/// (…, d), where there is a gain (d).
Var normed(const Var& x, const Var& gain, double eps) { return gain.defined() ? autograd::rms_norm(x, gain, eps) : x; }

/// The SVD of W_Qᵀ W_K, with the gains between the two.
LogitSvd svd_of(HeadMaps teacher) {
  if (teacher.q_gain.defined()) {
    const int64_t dim = teacher.wq.dim(0);
    teacher.wq = teacher.wq * teacher.q_gain.reshape({dim, 1});  // (d_H, D)
    teacher.wk = teacher.wk * teacher.k_gain.reshape({dim, 1});
  }
  return logit_svd(teacher);
}

/// The rotary frequencies of the head's pairs.
std::vector<double> frequencies_of(const HeadMaps& maps) {
  if (!maps.rope_base) return {};
  if (!maps.rope_frequencies.empty()) return maps.rope_frequencies;
  return engine::rope_frequencies(maps.wq.dim(0), *maps.rope_base).to_vector<double>();
}

/// The two rows of pair i among `rows` rows.
std::pair<int64_t, int64_t> rows_of_pair(int64_t i, int64_t rows, bool interleaved) {
  return interleaved ? std::pair{2 * i, 2 * i + 1} : std::pair{i, i + rows / 2};
}

/// Σ |q_pair|² over the inputs, pair by pair; w (d_H, D), gain (d_H) or undefined.
std::vector<double> pair_energies(const Tensor& w, const Tensor& gain, double eps, bool interleaved,
                                  const std::vector<Tensor>& inputs) {
  const int64_t rows = w.dim(0);
  std::vector<double> energies(static_cast<size_t>(rows / 2));
  for (const Tensor& x : inputs) {
    const Var product(engine::matmul(x, w.to(DType::f32), false, true));
    const Tensor q = normed(product, frozen(gain), eps).value();                             // (L, d_H)
    const std::vector<double> squares = engine::sum(q * q, {0}, false).to_vector<double>();  // (d_H)
    for (int64_t i = 0; i < rows / 2; ++i) {
      const auto [a, b] = rows_of_pair(i, rows, interleaved);
      energies[static_cast<size_t>(i)] += squares[static_cast<size_t>(a)] + squares[static_cast<size_t>(b)];
    }
  }
  return energies;
}

}  // namespace

StudentHead::StudentHead(const HeadMaps& teacher)
    : q_{{frozen(teacher.wq)}, frozen(teacher.q_gain)},
      k_{{frozen(teacher.wk)}, frozen(teacher.k_gain)},
      scale_(teacher.scale),
      norm_eps_(teacher.norm_eps),
      frequencies_(frequencies_of(teacher)),
      interleaved_(teacher.rope_interleaved) {}

StudentHead::StudentHead(const HeadMaps& teacher, StudentForm form, int64_t rank, const std::vector<Tensor>& inputs)
    : scale_(teacher.scale),
      norm_eps_(teacher.norm_eps),
      frequencies_(frequencies_of(teacher)),
      interleaved_(teacher.rope_interleaved) {
  const int64_t dim = teacher.wq.dim(0);
  require(rank >= 1 && rank <= dim, "student head: rank {}: expected 1 to d_H = {}", rank, dim);
  if (form == StudentForm::pairs)
    require(!frequencies_.empty(), "student head: the teacher's coordinates do not turn: it has no pairs to keep");
  require(form == StudentForm::factored || frequencies_.empty() || rank % 2 == 0,
          "student head: rank {} is odd: coordinates turn in pairs", rank);
  if (form == StudentForm::factored) init_factored(teacher, rank);
  else if (form == StudentForm::mixed) init_mixed(teacher, rank);
  else init_pairs(teacher, rank, inputs);
}

void StudentHead::init_factored(const HeadMaps& teacher, int64_t rank) {
  const LogitSvd svd = svd_of(teacher);
  const auto factor = [&](const Tensor& w, const Tensor& vectors) {
    const Tensor kept = vectors.slice(1, 0, rank).contiguous();                     // (D, r)
    return std::vector{leaf(kept.transpose(0, 1)), leaf(engine::matmul(w, kept))};  // (r, D), (d_H, r)
  };
  q_ = {factor(teacher.wq, svd.u), leaf(teacher.q_gain)};
  k_ = {factor(teacher.wk, svd.v), leaf(teacher.k_gain)};
}

void StudentHead::init_mixed(const HeadMaps& teacher, int64_t rank) {
  const LogitSvd svd = svd_of(teacher);
  const auto equal = [&](const Tensor& gain) {
    if (!gain.defined()) return Var();
    const double squares = engine::sum(gain * gain, {0}, false).item();
    return leaf(Tensor::full({rank}, std::sqrt(squares / static_cast<double>(rank))));
  };
  q_ = {{leaf(balanced(svd.u, svd.s, rank).transpose(0, 1))}, equal(teacher.q_gain)};  // (r, D)
  k_ = {{leaf(balanced(svd.v, svd.s, rank).transpose(0, 1))}, equal(teacher.k_gain)};
  if (frequencies_.empty()) return;
  const int64_t dim = teacher.wq.dim(0);
  std::vector<double> own;  // at the same relative places
  if (teacher.rope_frequencies.empty()) own = engine::rope_frequencies(rank, *teacher.rope_base).to_vector<double>();
  else
    for (int64_t i = 0; i < rank / 2; ++i) own.push_back(frequencies_[static_cast<size_t>(i * dim / rank)]);
  frequencies_ = own;
}

void StudentHead::init_pairs(const HeadMaps& teacher, int64_t rank, const std::vector<Tensor>& inputs) {
  const int64_t dim = teacher.wq.dim(0);
  const std::vector<double> q = pair_energies(teacher.wq, teacher.q_gain, norm_eps_, interleaved_, inputs);
  const std::vector<double> k = pair_energies(teacher.wk, teacher.k_gain, norm_eps_, interleaved_, inputs);
  std::vector<size_t> order(q.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return q[a] * k[a] > q[b] * k[b]; });
  order.resize(static_cast<size_t>(rank / 2));
  std::sort(order.begin(), order.end());
  const auto kept = [&](const Tensor& w) {  // (d_H, C)
    Tensor out = Tensor::empty({rank, w.dim(1)}, DType::f64);
    for (int64_t i = 0; i < rank / 2; ++i) {
      const auto from = rows_of_pair(static_cast<int64_t>(order[static_cast<size_t>(i)]), dim, interleaved_);
      const auto to = rows_of_pair(i, rank, interleaved_);
      engine::copy_inplace(out.slice(0, to.first, to.first + 1), w.slice(0, from.first, from.first + 1));
      engine::copy_inplace(out.slice(0, to.second, to.second + 1), w.slice(0, from.second, from.second + 1));
    }
    return out;  // (r, C)
  };
  const auto side = [&](const Tensor& w, const Tensor& gain) {
    return Side{{leaf(kept(w))}, gain.defined() ? leaf(kept(gain.reshape({dim, 1})).reshape({rank})) : Var()};
  };
  q_ = side(teacher.wq, teacher.q_gain);
  k_ = side(teacher.wk, teacher.k_gain);
  std::vector<double> own;
  for (const size_t pair : order) own.push_back(frequencies_[pair]);
  frequencies_ = own;
}

Var StudentHead::turned(const Tensor& x, const Side& side) const {
  Var y(x);  // (L, D)
  for (const Var& map : side.maps) y = autograd::linear(y, map);
  y = normed(y, side.gain, norm_eps_);
  const int64_t length = y.dim(0), dim = y.dim(1);
  y = autograd::reshape(y, {1, length, 1, dim});
  if (frequencies_.empty()) return y;
  std::vector<int64_t> positions(static_cast<size_t>(length));
  std::iota(positions.begin(), positions.end(), int64_t{0});
  return autograd::rope(y, engine::rope_table(Tensor::from({length}, positions),
                                              Tensor::from({static_cast<int64_t>(frequencies_.size())}, frequencies_),
                                              interleaved_, DType::f32));
}

Var StudentHead::weights(const Tensor& x) const {
  const Var all = autograd::attention_weights(turned(x, q_), turned(x, k_), {}, {.causal = true, .scale = scale_});
  return autograd::reshape(all, {x.dim(0), x.dim(0)});  // (L, L)
}

std::vector<autograd::Parameter> StudentHead::parameters() const {
  std::vector<autograd::Parameter> out;
  for (const auto& [name, side] : {std::pair{"q", &q_}, {"k", &k_}}) {
    for (size_t i = 0; i < side->maps.size(); ++i)
      if (side->maps[i].requires_grad()) out.push_back({fmt::format("{}.{}", name, i), side->maps[i], false});
    if (side->gain.defined() && side->gain.requires_grad())
      out.push_back({fmt::format("{}.gain", name), side->gain, false});
  }
  return out;
}

}  // namespace headroom::tasks
