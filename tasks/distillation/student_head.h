#pragma once
#include <string>
#include <vector>

#include "autograd/parameter.h"
#include "autograd/var.h"
#include "engine/name_table.h"
#include "engine/ops/rope/rope.h"
#include "tasks/measure/head_source.h"

namespace headroom::tasks {

/// The form of a head with a smaller dimension r, if the teacher's d_H coordinates turn with their positions. The three
/// differ because pairs that turn together must not be mixed before they turn.
enum class StudentForm {
  factored,  ///< W = L R of rank r, turning in all d_H coordinates: smaller weights, same head
  pairs,     ///< r/2 of the teacher's pairs with their frequencies: a smaller head
  mixed,     ///< r coordinates of the singular vectors, with their own frequencies: Algorithm 1 as printed
};
inline constexpr NameTable<StudentForm, 3> student_form_names{
    {{StudentForm::factored, "factored"}, {StudentForm::pairs, "pairs"}, {StudentForm::mixed, "mixed"}}};

/// Query and key maps, trained to give a teacher's attention weights.
class StudentHead {
 public:
  /// Step 1 of Algorithm 1. `factored` and `mixed`: the truncated SVD of W_Qᵀ W_K = U S Vᵀ, as (W_Q U_r) U_rᵀ and (W_K
  /// V_r) V_rᵀ, or as √S_r U_rᵀ and √S_r V_rᵀ. `pairs`: the rows of the pairs with largest E|q_pair|² E|k_pair|² over
  /// the inputs (L, D). If the teacher norms queries and keys, the product includes its gains, and the student has its
  /// own norms with trained gains: the teacher's, those of the pairs, or for `mixed` equal ones of the same norm.
  /// Throws Error for a rank outside [1, d_H], odd if pairs turn, or for pairs of a head that has none.
  StudentHead(const HeadMaps& teacher, StudentForm form, int64_t rank, const std::vector<engine::Tensor>& inputs);
  /// The teacher itself, frozen.
  explicit StudentHead(const HeadMaps& teacher);

  /// Causal attention weights of x (L, D), f32, positions from 0: (L, L), zero above the diagonal. Differentiable.
  autograd::Var weights(const engine::Tensor& x) const;
  std::vector<autograd::Parameter> parameters() const;

 private:
  /// The maps that make queries, or keys.
  struct Side {
    std::vector<autograd::Var> maps;  ///< in order of application, f32: one (d, D), or (r, D), (d_H, r)
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
