#include "tasks/distillation/student_head.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "autograd/ops.h"
#include "engine/error.h"
#include "engine/name_table.h"
#include "engine/ops/matmul/matmul.h"
#include "engine/ops/operators.h"
#include "engine/ops/sum/sum.h"
#include "tasks/theory/low_rank_logits.h"

namespace headroom::tasks {
namespace {

using autograd::Var;
using engine::DType;
using engine::Tensor;

constexpr NameTable<StudentForm, 3> form_names{
    {{StudentForm::factored, "factored"}, {StudentForm::pairs, "pairs"}, {StudentForm::mixed, "mixed"}}};

Var leaf(const Tensor& x) { return Var(x.to(DType::f32).contiguous(), true); }

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

/// Σ |q_pair|² over the inputs, pair by pair; w (d_H, D).
std::vector<double> pair_energies(const Tensor& w, bool interleaved, const std::vector<Tensor>& inputs) {
  const int64_t rows = w.dim(0);
  std::vector<double> energies(static_cast<size_t>(rows / 2));
  for (const Tensor& x : inputs) {
    const Tensor q = engine::matmul(x, w.to(DType::f32), false, true);                       // (L, d_H)
    const std::vector<double> squares = engine::sum(q * q, {0}, false).to_vector<double>();  // (d_H)
    for (int64_t i = 0; i < rows / 2; ++i) {
      const auto [a, b] = rows_of_pair(i, rows, interleaved);
      energies[static_cast<size_t>(i)] += squares[static_cast<size_t>(a)] + squares[static_cast<size_t>(b)];
    }
  }
  return energies;
}

}  // namespace

const char* name_of(StudentForm form) { return name_in(form_names, form); }

StudentHead::StudentHead(const HeadMaps& teacher)
    : q_{Var(teacher.wq.to(DType::f32).contiguous())},
      k_{Var(teacher.wk.to(DType::f32).contiguous())},
      scale_(teacher.scale),
      frequencies_(frequencies_of(teacher)),
      interleaved_(teacher.rope_interleaved) {}

StudentHead::StudentHead(const HeadMaps& teacher, StudentForm form, int64_t rank, const std::vector<Tensor>& inputs)
    : scale_(teacher.scale), frequencies_(frequencies_of(teacher)), interleaved_(teacher.rope_interleaved) {
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
  const LogitSvd svd = logit_svd(teacher);
  const auto factor = [&](const Tensor& w, const Tensor& vectors) {
    const Tensor kept = vectors.slice(1, 0, rank).contiguous();                     // (D, r)
    return std::vector{leaf(kept.transpose(0, 1)), leaf(engine::matmul(w, kept))};  // (r, D), (d_H, r)
  };
  q_ = factor(teacher.wq, svd.u);
  k_ = factor(teacher.wk, svd.v);
}

void StudentHead::init_mixed(const HeadMaps& teacher, int64_t rank) {
  const LogitSvd svd = logit_svd(teacher);
  q_ = {leaf(balanced(svd.u, svd.s, rank).transpose(0, 1))};  // (r, D)
  k_ = {leaf(balanced(svd.v, svd.s, rank).transpose(0, 1))};
  if (frequencies_.empty()) return;
  const int64_t dim = teacher.wq.dim(0);
  std::vector<double> own;  // at the same relative places
  if (teacher.rope_frequencies.empty()) own = engine::rope_frequencies(rank, *teacher.rope_base).to_vector<double>();
  else
    for (int64_t i = 0; i < rank / 2; ++i) own.push_back(frequencies_[static_cast<size_t>(i * dim / rank)]);
  frequencies_ = own;
}

void StudentHead::init_pairs(const HeadMaps& teacher, int64_t rank, const std::vector<Tensor>& inputs) {
  const int64_t dim = teacher.wq.dim(0), width = teacher.wq.dim(1);
  const std::vector<double> q = pair_energies(teacher.wq, interleaved_, inputs);
  const std::vector<double> k = pair_energies(teacher.wk, interleaved_, inputs);
  std::vector<size_t> order(q.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return q[a] * k[a] > q[b] * k[b]; });
  order.resize(static_cast<size_t>(rank / 2));
  std::sort(order.begin(), order.end());
  const auto kept = [&](const Tensor& w) {
    Tensor out = Tensor::empty({rank, width}, DType::f64);
    for (int64_t i = 0; i < rank / 2; ++i) {
      const auto from = rows_of_pair(static_cast<int64_t>(order[static_cast<size_t>(i)]), dim, interleaved_);
      const auto to = rows_of_pair(i, rank, interleaved_);
      engine::copy_inplace(out.slice(0, to.first, to.first + 1), w.slice(0, from.first, from.first + 1));
      engine::copy_inplace(out.slice(0, to.second, to.second + 1), w.slice(0, from.second, from.second + 1));
    }
    return std::vector{leaf(out)};  // (r, D)
  };
  q_ = kept(teacher.wq);
  k_ = kept(teacher.wk);
  std::vector<double> own;
  for (const size_t pair : order) own.push_back(frequencies_[pair]);
  frequencies_ = own;
}

Var StudentHead::turned(const Tensor& x, const std::vector<Var>& maps) const {
  Var y(x);  // (L, D)
  for (const Var& map : maps) y = autograd::linear(y, map);
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
  for (const auto& [name, maps] : {std::pair{"q", &q_}, {"k", &k_}})
    for (size_t i = 0; i < maps->size(); ++i)
      if ((*maps)[i].requires_grad()) out.push_back({fmt::format("{}.{}", name, i), (*maps)[i], false});
  return out;
}

}  // namespace headroom::tasks
