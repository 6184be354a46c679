#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "engine/tensor.h"

namespace headroom::tasks {

/// Query and key maps of one attention head, f64. Its logits are z_lj = scale · x_lᵀ wqᵀ wk x_j, with R_{j−l} between
/// the maps under rotary positions.
struct HeadMaps {
  engine::Tensor wq, wk;  ///< (d_H, D)
  double scale = 1;
};

/// Where a head comes from: drawn, or out of a model that a study trained.
struct HeadSource {
  std::string run{};  ///< a study's folder with weights/, such as runs/STUDY/quick; empty: a random head
  int64_t layer = 0;  ///< of a trained model
  int64_t head = 0;
  int64_t width = 64;     ///< D of a random head
  int64_t head_dim = 16;  ///< d_H of a random head
  double gain =
      1;  ///< of a random head: weights are N(0, gain²/D), so that q and k of unit tokens have norm gain·√(d_H/D)
};

/// Throws Error naming the field.
void validate(const HeadSource& source);

/// A random head of the seed, logit scale 1 as in the paper's theory; or the named head of the first weights file of
/// the run, in the order of names, with the model's logit scale 1/√d_H. Heads of a group that share keys have them.
/// Throws Error when the run has no weights (it then says how to keep them), or no such layer or head.
HeadMaps load_head(const HeadSource& source, uint64_t seed);

/// Random tokens (D, L), f64: uniform on the sphere of the given norm.
engine::Tensor random_tokens(int64_t width, int64_t length, double norm, uint64_t seed);

}  // namespace headroom::tasks
