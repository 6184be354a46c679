// The probe of a whole model against the plain formulas, on the attention weights that the model itself gives out.
#include "tasks/measure/model_probe.h"

#include <cmath>

#include "engine/linalg/svd.h"
#include "tests/models/pretrained/checkpoints.h"
#include "tests/support/catch.h"
#include "tests/support/folder.h"

namespace headroom::tasks {
namespace {

using engine::DType;
using namespace testing;

/// Attention weights of every layer, (1, H, L, L) each, of one piece.
std::vector<Tensor> weights_of(const models::Transformer& model, const std::vector<int32_t>& tokens, int64_t start,
                               int64_t length) {
  const autograd::NoGrad no_grad;
  std::vector<Tensor> probabilities;
  const std::vector<int64_t> ids(tokens.begin() + start, tokens.begin() + start + length);
  model.forward(Tensor::from({1, length}, ids), {.probabilities = &probabilities});
  return probabilities;
}

/// The weights of one query, on the keys that it sees.
std::vector<double> row_of(const Tensor& weights, int64_t head, int64_t query) {
  return weights.slice(1, head, head + 1).slice(2, query, query + 1).slice(3, 0, query + 1).to_vector<double>();
}

/// ‖diag(p) - ppᵀ‖₂ from the matrix itself.
double norm_of(const std::vector<double>& p) {
  const auto n = static_cast<int64_t>(p.size());
  const Tensor jacobian = Tensor::zeros({n, n}, DType::f64);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      jacobian.mutable_data<double>()[i * n + j] =
          (i == j ? p[static_cast<size_t>(i)] : 0) - p[static_cast<size_t>(i)] * p[static_cast<size_t>(j)];
  return engine::linalg::singular_values(jacobian).to_vector<double>()[0];
}

double entropy_of(const std::vector<double>& p) {
  double sum = 0;
  for (const double x : p) sum -= x * std::log(x);
  return sum;
}

/// The logits are log p up to a constant.
double deviation_of(const std::vector<double>& p) {
  double mean = 0, squares = 0;
  for (const double x : p) mean += std::log(x) / static_cast<double>(p.size());
  for (const double x : p) squares += std::pow(std::log(x) - mean, 2) / static_cast<double>(p.size());
  return std::sqrt(squares);
}

}  // namespace

TEST_CASE("a probe's measures are means over the pieces of a length", "[probe]") {
  const std::string name = GENERATE("llama2-gqa", "qwen3", "gpt2");
  CAPTURE(name);
  const auto model = checkpoint(name);
  const std::vector<int32_t> tokens = some_tokens(60);
  const std::vector<ProbeSpans> given = {{12, {40, 7, 0}}, {6, {54, 3}}};  // not in order
  double last_share = 0;
  int64_t calls = 0;
  const ModelProbe probe = probe_model(*model, tokens, given, std::nullopt, [&](const ModelProbeProgress& at) {
    const double share = static_cast<double>(at.layers_done) + at.share;
    CHECK(share > last_share);
    CHECK(at.layers == 2);
    last_share = share;
    ++calls;
  });
  CHECK(last_share == Approx(2));
  CHECK(calls == 2 * 5);
  REQUIRE(probe.spans.size() == 2);
  CHECK(probe.spans[0].length == 6);
  CHECK(probe.spans[1].starts == given[0].starts);
  CHECK(probe.positions == std::vector<int64_t>{1, 3, 7, 11});
  CHECK(probe.layers == 2);
  REQUIRE(static_cast<int64_t>(probe.probes.size()) == 2 * probe.heads);

  for (size_t i = 0; i < 2; ++i) {
    const int64_t length = probe.spans[i].length;
    std::vector<std::vector<Tensor>> weights;
    for (const int64_t start : probe.spans[i].starts) weights.push_back(weights_of(*model, tokens, start, length));
    const auto count = static_cast<double>(weights.size());
    for (const HeadProbe& head : probe.probes) {
      const auto mean_over = [&](int64_t query, const auto& measure) {
        double mean = 0;
        for (const auto& own : weights) mean += measure(row_of(own[static_cast<size_t>(head.layer)], head.head, query));
        return mean / count;
      };
      const double norm = mean_over(length - 1, norm_of);
      CHECK(head.last[i].jacobian_norm == Approx(norm).epsilon(1e-4));
      double spread = 0;
      for (const auto& own : weights)
        spread += std::pow(norm_of(row_of(own[static_cast<size_t>(head.layer)], head.head, length - 1)) - norm, 2);
      CHECK(head.norm_stderr[i] == Approx(std::sqrt(spread / (count - 1) / count)).epsilon(1e-3));
      CHECK(head.last[i].entropy == Approx(mean_over(length - 1, entropy_of)).epsilon(1e-4));
      CHECK(head.last[i].sink_mass == Approx(mean_over(length - 1, [](const auto& p) { return p[0]; })).epsilon(1e-4));
      CHECK(head.middle[i].logits_deviation == Approx(mean_over(length / 2, deviation_of)).epsilon(1e-4));
      if (i == 0) continue;
      for (size_t position = 0; position < probe.positions.size(); ++position) {
        const double own = mean_over(probe.positions[position], norm_of);
        CHECK(head.at_position[position].jacobian_norm == Approx(own).epsilon(1e-4));
        CHECK(head.largest_norm >= own);
      }
    }
  }
}

TEST_CASE("a probe's spectra are those of the longest pieces", "[probe]") {
  const auto model = checkpoint("llama2-gqa");
  const std::vector<int32_t> tokens = some_tokens(40);
  const ModelProbe probe = probe_model(*model, tokens, {{4, {1}}, {16, {0, 20}}});
  const std::vector<TurnedSpectra> wanted =
      head_spectra(*model, {{tokens.begin(), tokens.begin() + 16}, {tokens.begin() + 20, tokens.begin() + 36}});
  REQUIRE(wanted.size() == probe.probes.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    const HeadSpectra& own = probe.probes[i].spectra;
    CHECK(own.layer == wanted[i].layer);
    CHECK(own.head == wanted[i].head);
    CHECK(own.weighted == wanted[i].weighted);
    CHECK(own.product == wanted[i].product);
    CHECK(own.query == wanted[i].query);
    CHECK(own.key == wanted[i].key);
  }
  CHECK(probe.probes[0].norm_stderr[0] == 0);  // a single piece
}

TEST_CASE("a beginning-of-text token is one of a piece's tokens", "[probe]") {
  const auto model = checkpoint("llama2-gqa");
  const std::vector<int32_t> tokens = some_tokens(20);
  std::vector<int32_t> with_bos(tokens.begin() + 6, tokens.begin() + 13);
  with_bos.insert(with_bos.begin(), 1);
  const ModelProbe probe = probe_model(*model, tokens, {{8, {6}}}, 1);
  const ModelProbe wanted = probe_model(*model, with_bos, {{8, {0}}});
  for (size_t i = 0; i < probe.probes.size(); ++i) {
    CHECK(probe.probes[i].last[0].jacobian_norm == wanted.probes[i].last[0].jacobian_norm);
    CHECK(probe.probes[i].spectra.weighted == wanted.probes[i].spectra.weighted);
  }
  CHECK_THROWS_WITH(probe_model(*model, tokens, {{8, {6}}}, 37), contains("token 37 is not in the model's vocabulary"));
}

TEST_CASE("pieces are drawn from the whole text, each length from a stream of its own", "[probe]") {
  const std::vector<ProbeSpans> spans = draw_spans({4, 8}, 500, 20, 3);
  CHECK(draw_spans({8}, 500, 20, 3)[0].starts == spans[1].starts);
  CHECK(draw_spans({8}, 500, 20, 4)[0].starts != spans[1].starts);
  for (const ProbeSpans& own : spans) {
    CHECK(own.starts.size() == 500);
    CHECK(*std::min_element(own.starts.begin(), own.starts.end()) == 0);
    CHECK(*std::max_element(own.starts.begin(), own.starts.end()) == 20 - own.length);
  }
  CHECK(draw_spans({20}, 2, 20, 0)[0].starts == std::vector<int64_t>{0, 0});
  CHECK_THROWS_WITH(draw_spans({21}, 1, 20, 0), contains("the text has 20 tokens, a piece takes 21"));
  CHECK_THROWS_WITH(draw_spans({1}, 1, 20, 0), contains("a length of 1; expected 2 tokens or more"));
  CHECK_THROWS_WITH(draw_spans({4}, 0, 20, 0), contains("0 pieces of each length"));
}

TEST_CASE("pieces that are not there are refused before anything is computed", "[probe]") {
  const auto model = checkpoint("llama2-gqa");
  const std::vector<int32_t> tokens = some_tokens(20);
  const auto refused = [&](const std::vector<int32_t>& text, const std::vector<ProbeSpans>& spans,
                           const std::string& why) {
    CHECK_THROWS_WITH(
        probe_model(*model, text, spans, std::nullopt, [](const ModelProbeProgress&) { FAIL("it was computed"); }),
        contains(why));
  };
  refused(tokens, {}, "no pieces of a text");
  refused(tokens, {{4, {}}}, "no pieces of 4 tokens");
  refused(tokens, {{1, {0}}}, "a length of 1");
  refused(tokens, {{4, {0}}, {8, {0}}, {4, {2}}}, "length 4 is given twice");
  refused(tokens, {{4, {17}}}, "4 tokens from token 17 on are asked for, the text has 20");
  refused(tokens, {{4, {-1}}}, "4 tokens from token -1 on are asked for");
  refused({1, 2, 37, 3}, {{4, {0}}}, "token 37 is not in the model's vocabulary of 37");
}

}  // namespace headroom::tasks
