#include "engine/ops/embedding/embedding.h"

#include "autograd/ops.h"

namespace headroom::autograd {

Var embedding(const Var& table, const Tensor& indices) {
  const Tensor y = engine::embedding(table.value(), indices);  // (…, C)
  Tensor order;                                                // (2, n)
  if (grad_enabled() && table.may_be_aside()) {
    const engine::SideScope side;
    order = engine::embedding_order(indices, table.dim(0));
  }
  return record(
      "embedding", y, {table},
      [](const Tensor& dy, const Needs& needs, const Tensor& kept_indices, const Tensor& kept_order,
         int64_t kept_vocabulary) -> std::vector<Tensor> {
        const Tensor present = needs.present(0);
        return {engine::embedding_grad(dy, kept_indices, kept_vocabulary, present.defined() ? present : needs.place(0),
                                       present.defined(), kept_order)};
      },
      saved("indices", indices), saved("order", order), table.dim(0));
}

}  // namespace headroom::autograd
