#include "tasks/compression/input_squares.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "engine/error.h"

namespace headroom::tasks {
namespace {

/// Sums of squares of a matrix's inputs, and how many rows were added.
struct Squares {
  std::vector<double> sums;
  int64_t rows = 0;

  /// x (…, in)
  void add(const Tensor& x_in) {
    const Tensor x = x_in.to(engine::DType::f32).contiguous();
    const auto* values = x.data<float>();
    const auto width = static_cast<int64_t>(sums.size()), count = x.numel() / width;
    for (int64_t row = 0; row < count; ++row)
      for (size_t i = 0; i < sums.size(); ++i, ++values) sums[i] += double{*values} * double{*values};
    rows += count;
  }
};

/// A base's weights, whose matrices add their inputs to sums.
class WatchedWeights : public models::WeightSource {
 public:
  WatchedWeights(models::WeightSource& base, std::map<std::string, Squares>& squares)
      : base_(base), squares_(squares) {}
  models::Weight matrix(const std::string& name, int64_t out, int64_t in, const models::Draw& draw) override {
    Squares& squares = squares_[name];
    squares.sums.resize(static_cast<size_t>(in));
    return base_.matrix(name, out, in, draw).watched([&squares](const Tensor& x) { squares.add(x); });
  }
  models::Var tensor(const std::string& name, const engine::Shape& shape, const models::Draw& draw) override {
    return base_.tensor(name, shape, draw);
  }
  engine::DType dtype() const override { return base_.dtype(); }
  void finish() const override { base_.finish(); }

 private:
  models::WeightSource& base_;
  std::map<std::string, Squares>& squares_;
};

}  // namespace

std::map<std::string, Tensor> input_squares(const models::ModelFiles& base, const models::ModelEdit& edit,
                                            const TokenBatch& texts,
                                            const std::function<void(int64_t done, int64_t all)>& progress) {
  require(!texts.empty(), "calibration: no text");
  base.require_run();
  require_language_model(edit.config);
  std::map<std::string, Squares> squares;
  const models::LoadOptions options;
  models::EditedWeights edited(base.weights(options), edit.weights, options.weights);
  WatchedWeights source(edited, squares);
  const models::Transformer model(edit.config, source);
  const autograd::NoGrad no_grad;
  std::vector<Tensor> states;  // (1, T, D) of each text
  for (const std::vector<int64_t>& text : texts)
    states.push_back(model.embed(Tensor::from({1, static_cast<int64_t>(text.size())}, text)).value());
  for (int64_t layer = 0; layer < edit.config.layers; ++layer) {
    run_layers(model, states, layer, layer + 1);
    if (progress) progress(layer + 1, edit.config.layers);
  }
  constexpr int64_t rows_at_once = 64;  // logits are wide
  for (const Tensor& state : states)
    for (int64_t begin = 0; begin < state.dim(1); begin += rows_at_once)
      (void)model.readout(autograd::Var(state.slice(1, begin, std::min(begin + rows_at_once, state.dim(1)))));
  std::map<std::string, Tensor> means;
  for (auto& [name, own] : squares) {
    if (own.rows == 0) continue;
    for (double& sum : own.sums) {
      sum /= static_cast<double>(own.rows);
      require(std::isfinite(sum), "calibration: the inputs of {} are not finite", name);
    }
    means.emplace(name, Tensor::from({static_cast<int64_t>(own.sums.size())}, own.sums));
  }
  return means;
}

}  // namespace headroom::tasks
