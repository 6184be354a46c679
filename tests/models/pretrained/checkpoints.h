#pragma once
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "models/checkpoints/model_files.h"
#include "tests/support/catch.h"

namespace headroom::testing {

/// Small models with random weights in every layout that is read: see make_checkpoints.py.
inline std::filesystem::path checkpoints() {
  return std::filesystem::path(source_root()) / "tests/models/pretrained/checkpoints";
}

inline std::unique_ptr<models::Transformer> checkpoint(const std::string& name) {
  return models::ModelFiles::open(checkpoints() / name)->load();
}

/// Ids below 37, the vocabulary of the checkpoints.
inline std::vector<int32_t> some_tokens(size_t count) {
  std::vector<int32_t> ids;
  for (size_t i = 0; i < count; ++i) ids.push_back(static_cast<int32_t>((i * i + 3 * i + 1) % 37));
  return ids;
}

/// -log p of each token of a text but the first, from all logits at once.
inline std::vector<double> losses(const models::Transformer& model, const std::vector<int64_t>& ids) {
  const autograd::NoGrad no_grad;
  const engine::Tensor y =
      model.forward(engine::Tensor::from({1, static_cast<int64_t>(ids.size())}, ids)).value();  // (1, T, V)
  std::vector<double> out;
  for (size_t t = 0; t + 1 < ids.size(); ++t) {
    const auto row = static_cast<int64_t>(t);
    const std::vector<double> z = y.slice(1, row, row + 1).to_vector<double>();
    double sum = 0;
    for (const double x : z) sum += std::exp(x);
    out.push_back(std::log(sum) - z[static_cast<size_t>(ids[t + 1])]);
  }
  return out;
}

}  // namespace headroom::testing
