#pragma once
#include <string>
#include <vector>

#include "autograd/parameter.h"
#include "autograd/var.h"
#include "engine/name_table.h"
#include "engine/ops/rope/rope.h"
#include "tasks/measure/head_source.h"

namespace headroom::tasks {

/// What a head of a smaller dimension r is, where the teacher's d_H coordinates turn with their positions: three
/// different things, as pairs of coordinates that turn together must not be mixed before they turn.
enum class StudentForm {
  factored,  ///< W = L R of rank r, which turns in all d_H coordinates: smaller weights, the same head
  pairs,     ///< r/2 of the teacher's pairs, with their frequencies: a smaller head
  mixed,     ///< r coordinates of the singular vectors, turned by frequencies of their own: Algorithm 1 as printed
};
inline constexpr NameTable<StudentForm, 3> student_form_names{
    {{StudentForm::factored, "factored"}, {StudentForm::pairs, "pairs"}, {StudentForm::mixed, "mixed"}}};

/// Maps of queries and keys that are trained to give a teacher's attention weights.
class StudentHead {
 public:
  /// Step 1 of Algorithm 1. `factored` and `mixed`: the truncated SVD of W_Qᵀ W_K = U S Vᵀ, as (W_Q U_r) U_rᵀ and (W_K
  /// V_r) V_rᵀ, or as √S_r U_rᵀ and √S_r V_rᵀ. `pairs`: the rows of the pairs of largest E|q_pair|² E|k_pair|² over the
  /// inputs (L, D). Where the teacher norms queries and keys the product has its gains in it, and the student norms its
  /// own, with gains that are trained, too: the teacher's, those of the pairs, or, mixed, as many equal ones of the
  /// same norm. Throws Error for a rank outside [1, d_H], odd where pairs turn, or pairs of a head that has none.
  StudentHead(const HeadMaps& teacher, StudentForm form, int64_t rank, const std::vector<engine::Tensor>& inputs);
  /// The teacher itself, frozen.
  explicit StudentHead(const HeadMaps& teacher);

  /// Causal attention weights of x (L, D), f32, positions from 0: (L, L), zero above the diagonal. Differentiable.
  autograd::Var weights(const engine::Tensor& x) const;
  std::vector<autograd::Parameter> parameters() const;

 private:
  /// How queries, or keys, are made.
  struct Side {
    std::vector<autograd::Var> maps;  ///< in the order in which they are applied, f32: one (d, D), or (r, D), (d_H, r)
    autograd::Var gain{};             ///< of their norm (d); undefined without one
  };
  /// x W_1ᵀ … W_Nᵀ, normed and turned: (1, L, 1, d)
  autograd::Var turned(const engine::Tensor& x, const Side& side) const;
  void init_factored(const HeadMaps& teacher, int64_t rank);
  void init_mixed(const HeadMaps& teacher, int64_t rank);
  void init_pairs(const HeadMaps& teacher, int64_t rank, const std::vector<engine::Tensor>& inputs);

  Side q_, k_;
  double scale_, norm_eps_;
  std::vector<double> frequencies_;  ///< of the pairs; empty: nothing turns
  bool interleaved_;
};

}  // namespace headroom::tasks
