// Perplexity under its protocols, and what is measured of a trained model's heads, against the plain formulas.
#include <cmath>
#include <numeric>

#include "engine/linalg/eigh.h"
#include "engine/linalg/svd.h"
#include "engine/ops/matmul/matmul.h"
#include "models/attention.h"
#include "tasks/measure/attention_probe.h"
#include "tasks/measure/head_spectra.h"
#include "tasks/measure/perplexity.h"
#include "tests/models/pretrained/checkpoints.h"
#include "tests/support/catch.h"
#include "tests/support/folder.h"

namespace headroom::tasks {
namespace {

using engine::DType;
using namespace testing;
using Windows = std::vector<ScoredWindow>;

double mean_of(const std::vector<double>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

}  // namespace

TEST_CASE("the windows of each protocol", "[perplexity]") {
  CHECK(windows_of(PerplexityProtocol::disjoint, 11, 4, 0) == Windows{{0, 4, 1}, {4, 8, 5}});
  CHECK(windows_of(PerplexityProtocol::llamacpp, 17, 8, 0) == Windows{{0, 8, 5}, {8, 16, 13}});
  CHECK(windows_of(PerplexityProtocol::hf_strided, 9, 4, 2) == Windows{{0, 4, 1}, {2, 6, 4}, {4, 8, 6}, {6, 9, 8}});
  CHECK(windows_of(PerplexityProtocol::hf_strided, 8, 4, 4) == Windows{{0, 4, 1}, {4, 8, 5}});
  CHECK(windows_of(PerplexityProtocol::hf_strided, 3, 4, 1) == Windows{{0, 3, 1}});
  CHECK(windows_of(PerplexityProtocol::llamacpp, 512, 512, 0)[0].targets() == 255);
  // Behind a token that begins a text, which takes a place of the context's.
  CHECK(windows_of(PerplexityProtocol::disjoint, 11, 4, 0, true) == Windows{{0, 3, 0}, {3, 6, 3}, {6, 9, 6}});
  CHECK(windows_of(PerplexityProtocol::hf_strided, 8, 4, 4, true) == Windows{{0, 4, 1}, {4, 8, 5}});
  CHECK(windows_of(PerplexityProtocol::llamacpp, 17, 8, 0, true) == Windows{{0, 8, 5}, {8, 16, 13}});
  CHECK_THROWS_WITH(windows_of(PerplexityProtocol::disjoint, 3, 4, 0),
                    contains("the text has 3 tokens, one chunk takes 4"));
  CHECK_THROWS_WITH(windows_of(PerplexityProtocol::disjoint, 9, 1, 0),
                    contains("a context of 1 has no token to score"));
  CHECK_THROWS_WITH(windows_of(PerplexityProtocol::hf_strided, 9, 4, 5),
                    contains("a stride of 5 is not between 1 and"));
  CHECK_THROWS_WITH(windows_of(PerplexityProtocol::llamacpp, 9, 2, 0), contains("no second half"));
  CHECK_THROWS_WITH(protocol_named("best"), contains("known: disjoint, hf-strided, llamacpp"));
}

TEST_CASE("perplexity is the mean over the scored tokens, whatever goes together", "[perplexity]") {
  const auto model = checkpoint("smollm2");
  const auto bytes = models::make_byte_tokenizer();
  const std::vector<int32_t> tokens = some_tokens(50);
  std::vector<double> all, means;
  for (int64_t chunk = 0; chunk < 3; ++chunk) {
    const std::vector<double> own = losses(*model, {tokens.begin() + 16 * chunk, tokens.begin() + 16 * (chunk + 1)});
    all.insert(all.end(), own.begin(), own.end());
    means.push_back(mean_of(own));
  }
  PerplexityOptions options{.context = 16, .windows_at_once = 2};
  int64_t calls = 0;
  const Perplexity p = measure_perplexity(*model, *bytes, tokens, options, nullptr, [&](const PerplexityProgress& at) {
    ++calls;
    CHECK(at.windows == 3);
  });
  CHECK(calls == 2);
  CHECK(p.tokens_scored == 45);
  CHECK(p.nll == Approx(mean_of(all)).epsilon(1e-6));
  CHECK(p.ppl == Approx(std::exp(mean_of(all))).epsilon(1e-6));
  CHECK(p.bits_per_byte == Approx(p.nll / std::log(2)));  // each token is a byte
  double spread = 0, token_spread = 0;
  for (const double m : means) spread += std::pow(m - mean_of(means), 2);
  for (const double x : all) token_spread += std::pow(x - mean_of(all), 2);
  CHECK(p.stderr_windows == Approx(std::sqrt(spread / 2 / 3)).epsilon(1e-5));
  CHECK(p.stderr_tokens == Approx(std::sqrt(token_spread / 45 / 44)).epsilon(1e-5));
  options.windows_at_once = 1;
  CHECK(measure_perplexity(*model, *bytes, tokens, options).nll_sum == p.nll_sum);

  options = {.protocol = PerplexityProtocol::llamacpp, .context = 16, .bos = 1};
  std::vector<double> second;
  std::vector<int32_t> whole = tokens;
  whole.insert(whole.begin(), 1);  // what begins the text is cut with it
  for (int64_t chunk = 0; chunk < 3; ++chunk) {
    std::vector<int64_t> ids(whole.begin() + 16 * chunk, whole.begin() + 16 * (chunk + 1));
    ids[0] = 1;
    const std::vector<double> own = losses(*model, ids);
    second.insert(second.end(), own.begin() + 8, own.end());
  }
  CHECK(measure_perplexity(*model, *bytes, tokens, options).nll == Approx(mean_of(second)).epsilon(1e-6));
  options = {.protocol = PerplexityProtocol::hf_strided, .context = 16, .stride = 8, .bos = 1};
  std::vector<double> strided;
  for (int64_t begin = 0, scored = 1; scored < 51; begin += 8) {
    const int64_t end = std::min<int64_t>(begin + 16, 51);
    const std::vector<double> own = losses(*model, {whole.begin() + begin, whole.begin() + end});
    strided.insert(strided.end(), own.begin() + (scored - begin - 1), own.end());
    scored = end;
  }
  CHECK(measure_perplexity(*model, *bytes, tokens, options).nll == Approx(mean_of(strided)).epsilon(1e-6));
  options = {.context = 16, .bos = 1};
  std::vector<double> behind;
  for (int64_t chunk = 0; chunk < 3; ++chunk) {
    std::vector<int64_t> ids{1};
    ids.insert(ids.end(), tokens.begin() + 15 * chunk, tokens.begin() + 15 * (chunk + 1));
    const std::vector<double> own = losses(*model, ids);
    behind.insert(behind.end(), own.begin(), own.end());
  }
  const Perplexity begun = measure_perplexity(*model, *bytes, tokens, options);
  CHECK(begun.tokens_scored == 45);
  CHECK(begun.nll == Approx(mean_of(behind)).epsilon(1e-6));
  CHECK_THROWS_WITH(measure_perplexity(*model, *bytes, {40, 1}, {.context = 2}),
                    contains("token 40 is not in the model's"));
}

TEST_CASE("a model does not diverge from itself, and does from another", "[perplexity]") {
  const auto model = checkpoint("smollm2"), other = checkpoint("llama2-gqa");
  const auto bytes = models::make_byte_tokenizer();
  const std::vector<int32_t> tokens = some_tokens(40);
  const Perplexity same = measure_perplexity(*model, *bytes, tokens, {.context = 20}, model.get());
  CHECK(std::abs(same.against->kl_mean) < 1e-9);
  CHECK(same.against->top1_agreement == 1);
  CHECK(same.against->nll_added == 0);
  CHECK(same.against->stderr_added == 0);
  const Perplexity apart = measure_perplexity(*model, *bytes, tokens, {.context = 20}, other.get());
  CHECK(apart.nll == same.nll);
  CHECK(apart.against->kl_mean > 0.01);
  CHECK(apart.against->kl_p99 > apart.against->kl_mean);
  CHECK(apart.against->top1_agreement < 1);
  const Perplexity base = measure_perplexity(*other, *bytes, tokens, {.context = 20});
  CHECK(apart.against->nll_added == Approx(apart.nll - base.nll));
  // By hand: two windows of 19 scored tokens each, whose differences d_1 and d_2 have the error |d_1 - d_2| / 2.
  const auto added_in = [&](int64_t window) {
    const std::vector<int32_t> own(tokens.begin() + 20 * window, tokens.begin() + 20 * (window + 1));
    return measure_perplexity(*model, *bytes, own, {.context = 20}).nll -
           measure_perplexity(*other, *bytes, own, {.context = 20}).nll;
  };
  CHECK(apart.against->stderr_added == Approx(std::abs(added_in(0) - added_in(1)) / 2));
}

TEST_CASE("parts of a text tell how far its perplexity may be off", "[perplexity]") {
  const auto model = checkpoint("smollm2"), other = checkpoint("llama2-gqa");
  const auto bytes = models::make_byte_tokenizer();
  const std::vector<int32_t> tokens = some_tokens(170);
  const PerplexityOptions options{.context = 5};
  const auto measure = [&](const std::vector<int32_t>& text) {
    return measure_perplexity(*model, *bytes, text, options, other.get());
  };
  const Perplexity whole = measure({tokens.begin(), tokens.begin() + 16 * 10});
  const auto parts = perplexity_parts(whole);
  REQUIRE(parts.size() == 5);
  for (size_t k = 0; k < 16; ++k) {  // two windows a part: the metric without them
    std::vector<int32_t> rest(tokens.begin(), tokens.begin() + 160);
    rest.erase(rest.begin() + static_cast<int64_t>(10 * k), rest.begin() + static_cast<int64_t>(10 * (k + 1)));
    const Perplexity without = measure(rest);
    const auto expected = [&](double all, double less) { return Approx(16 * all - 15 * less).epsilon(1e-6); };
    CHECK(parts.at("perplexity")[k] == expected(whole.ppl, without.ppl));
    CHECK(parts.at("ratio")[k] == expected(std::exp(whole.against->nll_added), std::exp(without.against->nll_added)));
    CHECK(parts.at("kl")[k] == expected(whole.against->kl_mean, without.against->kl_mean));
    CHECK(parts.at("top1_agreement")[k] == expected(whole.against->top1_agreement, without.against->top1_agreement));
  }
  CHECK(perplexity_parts(measure({tokens.begin(), tokens.begin() + 79})).empty());  // 15 windows
  CHECK(perplexity_parts(measure_perplexity(*model, *bytes, tokens, options)).size() == 1);
}

TEST_CASE("a head's measures are those of its probabilities", "[probe]") {
  const auto model = checkpoint("llama2-gqa");
  const std::vector<int32_t> ids = some_tokens(24);
  const std::vector<int64_t> text(ids.begin(), ids.end());
  std::vector<Tensor> probabilities;
  {
    const autograd::NoGrad no_grad;
    model->forward(Tensor::from({1, 24}, text), {.probabilities = &probabilities});
  }
  const AttentionProbe probe = probe_attention(*model, {text}, {1, 23})[0];
  REQUIRE(probabilities.size() == 2);
  for (int64_t layer = 0; layer < 2; ++layer)
    for (int64_t head = 0; head < 6; ++head) {
      const std::vector<double> p =
          probabilities[static_cast<size_t>(layer)].slice(1, head, head + 1).slice(2, 23, 24).to_vector<double>();
      const QueryMeasures& m = probe.at(layer, head, 1);
      double entropy = 0;
      const Tensor jacobian = Tensor::zeros({24, 24}, DType::f64);
      for (int64_t i = 0; i < 24; ++i) {
        const double own = p[static_cast<size_t>(i)];
        entropy -= own * std::log(own);
        for (int64_t j = 0; j < 24; ++j)
          jacobian.mutable_data<double>()[i * 24 + j] = (i == j ? own : 0) - own * p[static_cast<size_t>(j)];
      }
      CHECK(m.entropy == Approx(entropy).epsilon(1e-4));
      CHECK(m.sink_mass == Approx(p[0]).epsilon(1e-4));
      CHECK(m.largest == Approx(*std::max_element(p.begin(), p.end())).epsilon(1e-4));
      CHECK(m.jacobian_norm == Approx(engine::linalg::singular_values(jacobian).to_vector<double>()[0]).epsilon(1e-4));
      // The variance of log p is that of the logits.
      double mean = 0, variance = 0;
      for (const double own : p) mean += std::log(own) / 24;
      for (const double own : p) variance += std::pow(std::log(own) - mean, 2) / 24;
      CHECK(m.logits_deviation == Approx(std::sqrt(variance)).epsilon(1e-4));
      CHECK(m.logits_rms == m.logits_rms_all);  // the last query sees all keys
      CHECK(probe.at(layer, head, 0).logits_rms != probe.at(layer, head, 0).logits_rms_all);
    }
  CHECK_THROWS_WITH(probe_attention(*model, {text}, {24}), contains("query 24 of a text of 24 tokens"));
}

TEST_CASE("the spectra of a head are those of its matrices and of its scores", "[probe]") {
  const auto model = checkpoint("llama2-gqa");
  const std::vector<int32_t> ids = some_tokens(30);
  const std::vector<int64_t> text(ids.begin(), ids.end());
  const std::vector<TurnedSpectra> all = head_spectra(*model, {text});
  REQUIRE(all.size() == 12);
  const TurnedSpectra& own = all[6 + 4];  // layer 1, head 4, which shares keys 1
  CHECK(own.layer == 1);
  CHECK(own.head == 4);
  const models::HeadGroupLayer& heads = model->attention(1).group(0);
  const Tensor q = heads.q_proj().weight().values(DType::f64).slice(0, 16, 20).contiguous();  // (4, 24)
  const Tensor k = heads.k_proj().weight().values(DType::f64).slice(0, 4, 8).contiguous();    // (4, 24)
  const auto largest = [](const Tensor& x) { return engine::linalg::singular_values(x).to_vector<double>()[0]; };
  CHECK(own.query[0] == Approx(largest(q)));
  CHECK(own.key[0] == Approx(largest(k)));
  CHECK(own.product[0] == Approx(largest(engine::matmul(q, k, true))));

  // Σ σ² of C_q^½ C_k^½ is the mean of (q·(k - mean k))² over all pairs of tokens, before the rotary turn or after it.
  const auto mean_square = [&](bool after) {
    std::vector<double> queries, keys;
    models::ForwardContext context;
    context.observer = [&](const models::AttentionInputs& in) {
      if (in.layer != 1) return;
      queries = (after ? in.q.value() : in.raw_q).slice(2, 4, 5).to_vector<double>();
      keys = (after ? in.k.value() : in.raw_k).slice(2, 1, 2).to_vector<double>();
    };
    hidden_states(*model, {text}, context);
    double sum = 0;
    for (size_t i = 0; i < 4; ++i) {
      double mean = 0;
      for (size_t t = 0; t < 30; ++t) mean += keys[t * 4 + i] / 30;
      for (size_t t = 0; t < 30; ++t) keys[t * 4 + i] -= mean;
    }
    for (size_t s = 0; s < 30; ++s)
      for (size_t t = 0; t < 30; ++t) {
        double score = 0;
        for (size_t i = 0; i < 4; ++i) score += queries[s * 4 + i] * keys[t * 4 + i];
        sum += score * score / 900;
      }
    return sum;
  };
  const auto squares = [](const std::vector<double>& values) {
    return std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
  };
  CHECK(squares(own.weighted) == Approx(mean_square(false)).epsilon(1e-6));
  CHECK(squares(own.turned) == Approx(mean_square(true)).epsilon(1e-6));
  CHECK(mean_square(true) != Approx(mean_square(false)).epsilon(1e-6));
}

TEST_CASE("an effective rank counts what holds the energy", "[probe]") {
  CHECK(effective_rank({2, 1, 1}, 0.6) == 1);
  CHECK(effective_rank({2, 1, 1}, 0.7) == 2);
  CHECK(effective_rank({2, 1, 1}, 1) == 3);
  CHECK(effective_rank({1e308, 1e308}, 0.9) == 2);
  CHECK(effective_rank({0, 0}, 0.9) == 0);
  CHECK_THROWS_WITH(effective_rank({1}, 0), contains("an energy of 0 is not in (0, 1]"));
}

}  // namespace headroom::tasks
