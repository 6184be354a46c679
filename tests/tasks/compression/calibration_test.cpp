// Second moments of what heads do on a text.
#include "tasks/compression/calibration.h"

#include <fmt/format.h>

#include <cmath>

#include "tasks/compression/input_squares.h"
#include "tests/models/pretrained/checkpoints.h"

namespace headroom::tasks {
namespace {

using testing::contains;

constexpr CalibrationNeeds everything{.before_turn = true, .after_turn = true, .outputs = true};

TokenBatch two_texts() {
  TokenBatch texts(2);
  for (int64_t i = 0; i < 9; ++i) texts[0].push_back((i * i + 2) % 37);
  for (int64_t i = 0; i < 14; ++i) texts[1].push_back((7 * i + 1) % 37);
  return texts;
}

/// Σ x xᵀ / T of head `head` over tensors (1, T, H, d), a plain sum.
std::vector<double> moment_of(const std::vector<Tensor>& xs, int64_t head) {
  const int64_t width = xs[0].dim(3);
  std::vector<double> sum(static_cast<size_t>(width * width), 0.0);
  double count = 0;
  for (const Tensor& x : xs) {
    const std::vector<double> values = x.to(engine::DType::f64).contiguous().to_vector<double>();
    for (int64_t t = 0; t < x.dim(1); ++t, ++count)
      for (int64_t i = 0; i < width; ++i)
        for (int64_t j = 0; j < width; ++j) {
          const auto at = [&](int64_t c) { return values[static_cast<size_t>((t * x.dim(2) + head) * width + c)]; };
          sum[static_cast<size_t>(i * width + j)] += at(i) * at(j);
        }
  }
  for (double& value : sum) value /= count;
  return sum;
}

void require_equal(const Tensor& moment, const std::vector<double>& wanted) {
  const std::vector<double> values = moment.to_vector<double>();
  REQUIRE(values.size() == wanted.size());
  for (size_t i = 0; i < values.size(); ++i) CHECK(values[i] == Approx(wanted[i]).margin(1e-12));
}

}  // namespace

TEST_CASE("input squares are the mean squares of what each matrix multiplies", "[compression]") {
  const auto files = models::ModelFiles::open(testing::checkpoints() / "qwen2");
  const auto model = files->load();
  const auto squares = input_squares(*files, {files->description().config, {}}, two_texts());
  std::vector<double> wanted;  // of the second layer's input
  models::ForwardContext context;
  context.observer = [&](const models::AttentionInputs& in) {
    if (in.layer != 1) return;
    const std::vector<double> x = in.x.contiguous().to_vector<double>();
    wanted.resize(static_cast<size_t>(in.x.dim(2)));
    for (size_t i = 0; i < x.size(); ++i) wanted[i % wanted.size()] += x[i] * x[i] / 23;
  };
  for (const auto& text : two_texts()) model->forward(Tensor::from({1, std::ssize(text)}, text), context);
  for (const char* name : {"q_proj", "k_proj", "v_proj"}) {
    const auto found = squares.at(fmt::format("blocks.1.attention.0.{}.weight", name)).to_vector<double>();
    REQUIRE(found.size() == wanted.size());
    for (size_t i = 0; i < found.size(); ++i) CHECK(found[i] == Approx(wanted[i]).epsilon(1e-5));
  }
  CHECK(squares.at("blocks.0.ffn.down.weight").numel() == model->config().ffn_width);
  CHECK(squares.at("blocks.0.ffn.up.weight").to_vector<double>() ==
        squares.at("blocks.0.ffn.gate.weight").to_vector<double>());
  CHECK_THROWS_WITH(input_squares(*files, {files->description().config, {}}, {}), contains("calibration: no text"));
}

TEST_CASE("a calibration has the moments of queries, keys and outputs over all texts", "[compression]") {
  const auto model = testing::checkpoint("qwen2");
  const Calibration calibration = calibrate(*model, two_texts(), {.needs = everything, .layers = {1}});
  CHECK(calibration.tokens == 23);
  CHECK(calibration.layers[0].before.queries().empty());
  std::vector<Tensor> raw_q, k, outputs;
  models::ForwardContext context;
  std::vector<Tensor> probabilities;
  std::vector<Tensor> values;
  context.observer = [&](const models::AttentionInputs& in) {
    if (in.layer == 1) raw_q.push_back(in.raw_q), k.push_back(in.k.value()), values.push_back(in.v.value());
  };
  for (const auto& text : two_texts()) {
    probabilities.clear();
    context.probabilities = &probabilities;
    model->forward(Tensor::from({1, std::ssize(text)}, text), context);
    const Tensor p = probabilities.at(1), v = values.back();  // (1, H, T, T), (1, T, H_kv, d)
    const int64_t length = p.dim(2), heads = p.dim(1), shared = heads / v.dim(2), dim = v.dim(3);
    outputs.push_back(Tensor::zeros({1, length, heads, dim}));  // (1, T, H, d)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t t = 0; t < length; ++t)
        for (int64_t c = 0; c < dim; ++c)
          for (int64_t j = 0; j < length; ++j)
            outputs.back().mutable_data<float>()[(t * heads + h) * dim + c] +=
                p.data<float>()[(h * length + t) * length + j] * v.data<float>()[(j * v.dim(2) + h / shared) * dim + c];
  }
  const LayerMoments& moments = calibration.layers[1];
  for (int64_t h = 0; h < 4; ++h) {
    require_equal(moments.before.queries()[static_cast<size_t>(h)].moment(false), moment_of(raw_q, h));
    const std::vector<double> wanted = moment_of(outputs, h);
    const std::vector<double> own = moments.outputs[static_cast<size_t>(h)].moment(false).to_vector<double>();
    for (size_t i = 0; i < own.size(); ++i) CHECK(own[i] == Approx(wanted[i]).margin(1e-6));
  }
  for (int64_t h = 0; h < 2; ++h)
    require_equal(moments.after.keys()[static_cast<size_t>(h)].moment(false), moment_of(k, h));
  // The turn moves energy within its pairs only.
  for (const bool interleaved : {false, true}) {
    const auto own = testing::checkpoint(interleaved ? "llama3.1.gguf" : "llama3.1");
    REQUIRE(own->config().rope_interleaved == interleaved);
    const Calibration both = calibrate(*own, two_texts(), {.needs = everything});
    const auto before = pair_energies(both.layers[0].before.keys()[0].moment(false), interleaved);
    const auto after = pair_energies(both.layers[0].after.keys()[0].moment(false), interleaved);
    for (size_t p = 0; p < before.size(); ++p) CHECK(after[p] == Approx(before[p]).epsilon(1e-5));
  }
}

TEST_CASE("a short calibration text is told, and its moments are made regular", "[compression]") {
  const auto model = testing::checkpoint("smollm2");  // heads of 8
  const Calibration calibration = calibrate(*model, {{5, 9, 2}}, {.needs = everything});
  CHECK(
      calibration.shortage(8) ==
      "the calibration text has 3 tokens, a head 8 dimensions: second moments are singular, and their roots are those "
      "of C + 1e-07 mean(diag C) I");
  CHECK(calibration.shortage(3) == "");
  const SecondMoments& own = calibration.layers[0].before.keys()[0];
  const std::vector<double> plain = own.moment(false).to_vector<double>();
  const std::vector<double> shrunk = calibration.shrunk(own, false).to_vector<double>();
  double trace = 0;
  for (size_t i = 0; i < 8; ++i) trace += plain[i * 9];
  for (size_t i = 0; i < 8; ++i) CHECK(shrunk[i * 9] - plain[i * 9] == Approx(1e-7 * trace / 8).epsilon(1e-6));
  CHECK(shrunk[1] == plain[1]);
  // What is never there may be anything.
  CHECK(calibration.shrunk(Tensor::zeros({2, 2}, engine::DType::f64)).to_vector<double>() ==
        std::vector<double>{1, 0, 0, 1});
  CHECK_THROWS_WITH(calibrate(*model, {}, {.needs = everything}), contains("calibration: no text"));
  CHECK_THROWS_WITH(calibrate(*model, {{}}, {.needs = everything}), contains("calibration: a text is empty"));
  CHECK_THROWS_WITH(calibrate(*model, {{1, 2}}, {.needs = everything, .layers = {2}}),
                    contains("there is no layer 2, the model has 2"));
}

TEST_CASE("a text is cut into pieces of the context", "[compression]") {
  const std::vector<int32_t> tokens{10, 11, 12, 13, 14, 15, 16, 17, 18};
  CHECK(pieces_of(tokens, 1, 8, 4) == TokenBatch{{11, 12, 13, 14}, {15, 16, 17}});
  CHECK(pieces_of(tokens, 0, 9, 4) == TokenBatch{{10, 11, 12, 13}, {14, 15, 16, 17}});
  CHECK(pieces_of(tokens, 0, 4, 3, 1) == TokenBatch{{1, 10, 11}, {1, 12, 13}});
  CHECK_THROWS_WITH(pieces_of(tokens, 4, 12, 4), contains("tokens 4:12 are not in the text, which has 9"));
  CHECK_THROWS_WITH(pieces_of(tokens, 4, 4, 4), contains("tokens 4:4"));
}

TEST_CASE("a turned moment is that of turned vectors, at near and far distances alike", "[compression]") {
  const std::vector<double> frequencies{1, 0.1};
  const std::vector<double> x{0.3, -1, 2, 0.5};
  std::vector<double> square;
  for (const double a : x)
    for (const double b : x) square.push_back(a * b);
  const Tensor moment = Tensor::from({4, 4}, square);
  for (const bool interleaved : {false, true})
    for (const bool back : {false, true}) {
      INFO(interleaved << " " << back);
      std::vector<double> want(16, 0.0);
      const std::vector<double> distances{0, 1, 2, 4, 5, 8};  // below 10; 2 sqrt(2) and 2 are one
      for (const double distance : distances) {
        std::vector<double> y = x;
        for (size_t p = 0; p < 2; ++p) {
          const double angle = (back ? -distance : distance) * frequencies[p];
          const size_t i = interleaved ? 2 * p : p, j = interleaved ? 2 * p + 1 : p + 2;
          y[i] = std::cos(angle) * x[i] - std::sin(angle) * x[j];
          y[j] = std::sin(angle) * x[i] + std::cos(angle) * x[j];
        }
        for (size_t i = 0; i < 16; ++i) want[i] += y[i / 4] * y[i % 4] / static_cast<double>(distances.size());
      }
      const std::vector<double> have = turned_moment(moment, frequencies, interleaved, 10, back).to_vector<double>();
      for (size_t i = 0; i < 16; ++i) CHECK(have[i] == Approx(want[i]).margin(1e-12));
    }
}

}  // namespace headroom::tasks
