#pragma once
#include "engine/dispatch/op.h"
#include "engine/dropout.h"

namespace headroom::engine {

/// y_i = x_i / (1 - p) if random_bits(key, i) ≥ p · 2³², else 0 (Srivastava et al., 2014). A pure function of x, p and
/// key, linear in x: dx = dropout(dy, p, key), so no mask is kept. Throws Error unless 0 ≤ p < 1 and
/// check_key() takes the key. With `added`, of x's shape: added + y, with the same bits as in two steps, on a GPU by
/// one kernel.
Tensor dropout(const Tensor& x, double p, const RngKey& key, const Tensor& added = {});

/// True if x's device has kernels that apply dropout to what they add or make: a GPU, unless
/// HEADROOM_JOINED_DROPOUT=off takes it apart, for comparing the two.
bool joins_dropout(const Tensor& x);
/// Applies the dropout of x, which `op` adds, and clears `dropout`, unless kernels can apply it (joins_dropout()).
/// Throws Error unless dropout() takes x.
void leave_dropout(const char* op, Tensor& x, Dropout& dropout);

struct DropoutCall {
  Tensor x;
  Dropout dropout;
  Tensor added;
  Tensor y{};
  auto operands() { return std::array{real("x", x), optional_real("added", added)}; }
};
extern Op<DropoutCall> dropout_op;

}  // namespace headroom::engine
