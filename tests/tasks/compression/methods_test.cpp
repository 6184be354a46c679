// The methods of compression on small models in every layout: nothing is lost at full rank, what is lost below is what
// the methods say, and the compressed model costs what its plan says.
#include "tasks/compression/methods.h"

#include <cmath>

#include "engine/linalg/spd.h"
#include "engine/ops/matmul/matmul.h"
#include "models/costs.h"
#include "models/rope_cache.h"
#include "models/weights/sources.h"
#include "tests/models/pretrained/checkpoints.h"
#include "tests/support/distance.h"
#include "tests/tasks/compression/texts.h"

namespace headroom::tasks {
namespace {

using engine::DType;
using engine::matmul;
using testing::all_layers;
using testing::contains;
using testing::distance;

TokenBatch some_texts() { return testing::texts_of(12, 0); }

Calibration calibrated(const models::Transformer& model) {
  return calibrate(model, some_texts(), {.needs = {.before_turn = true, .after_turn = true, .outputs = true}});
}

Tensor logits_of_text(const models::Transformer& model) {
  const autograd::NoGrad no_grad;
  return model.forward(Tensor::from({1, 30}, some_texts()[3])).value();
}

double square_of(const Tensor& a) {
  double sum = 0;
  for (const double x : a.to(DType::f64).to_vector<double>()) sum += x * x;
  return sum;
}

Tensor minus(const Tensor& a, const Tensor& b) {
  const Tensor out = a.to(DType::f64).contiguous().clone();
  const std::vector<double> other = b.to(DType::f64).to_vector<double>();
  for (size_t i = 0; i < other.size(); ++i) out.mutable_data<double>()[i] -= other[i];
  return out;
}

/// A small model that is in memory in f32, and its files.
struct Checkpoint {
  std::unique_ptr<models::ModelFiles> files;
  std::unique_ptr<models::Transformer> model;
  const models::TransformerConfig& config;
  explicit Checkpoint(const std::string& name)
      : files(models::ModelFiles::open(testing::checkpoints() / name)),
        model(files->load({.keep = models::Keep::computed})),
        config(files->description().config) {}
};

/// Rows of one head of a projection.
Tensor head_rows(const models::Projection& projection, int64_t head, int64_t dim) {
  return projection.weight().values(DType::f64).slice(0, head * dim, (head + 1) * dim).contiguous();
}

}  // namespace

TEST_CASE("at full rank every method is the original model", "[compression]") {
  for (const char* name :
       {"smollm2", "llama3.1", "llama3.1.gguf", "qwen2", "qwen2.gguf", "qwen3", "gpt2", "llama-biases"}) {
    const Checkpoint base(name);
    const auto& [files, model, config] = base;
    const models::HeadGroup head = models::first_layer(config).groups[0];
    const Calibration calibration = calibrated(*model);
    const Tensor before = logits_of_text(*model);
    const double size = std::sqrt(square_of(before) / static_cast<double>(before.numel()));
    for (const std::string& method : qk_method_names()) {
      const QkMethod qk = qk_method_named(method);
      INFO(name << " qk " << method);
      const bool turns = config.positions == models::Positions::rope;
      if (qk == QkMethod::product_literal && turns) continue;  // it turns other pairs
      const bool about_turns = keeps_pairs(qk) || maps_after_turn(qk);
      if ((config.qk_norm && qk != QkMethod::plain && !maps_after_turn(qk)) || (about_turns && !turns)) {
        CHECK_THROWS_AS(HeadDecompositions(*files, qk, VoMethod::none, calibration), Error);
        continue;
      }
      const HeadDecompositions heads(*files, qk, VoMethod::none, calibration);
      const auto plan = uniform_plan(config, qk, VoMethod::none, head.qk_dim, 0, all_layers(config));
      const models::ModelEdit edit = heads.edit(plan);
      const auto compressed = models::load(*model, edit);
      CHECK(distance(logits_of_text(*compressed), before) < 2e-4 * size);
      CHECK(compressed->parameter_count() == models::parameter_count(compressed_config(config, plan)));
    }
    for (const std::string& method : vo_method_names()) {
      INFO(name << " vo " << method);
      const VoMethod vo = vo_method_named(method);
      const HeadDecompositions heads(*files, QkMethod::none, vo, calibration);
      const auto plan = uniform_plan(config, QkMethod::none, vo, 0, head.v_dim, all_layers(config));
      CHECK(distance(logits_of_text(*models::load(*model, heads.edit(plan))), before) < 2e-4 * size);
    }
  }
}

TEST_CASE("below full rank something is lost, less with a higher rank, in any mixture of heads", "[compression]") {
  const Checkpoint base("llama3.1");
  const auto& [files, model, config] = base;
  const Calibration calibration = calibrated(*model);
  const Tensor before = logits_of_text(*model);
  for (const std::string& method : qk_method_names()) {
    INFO(method);
    const QkMethod qk = qk_method_named(method);
    const HeadDecompositions heads(*files, qk, VoMethod::whitened, calibration);
    CompressionPlan plan = empty_plan(config, qk, VoMethod::whitened);
    CHECK(distance(logits_of_text(*models::load(*model, heads.edit(plan))), before) == 0);
    // Key-value heads of a layer of unequal ranks, one as it is, values of another.
    plan.qk_ranks = {{4, 0}, {2, 4}};
    plan.vo_ranks = {{0, 3}, {0, 0}};
    const models::ModelEdit edit = heads.edit(plan);
    CHECK(edit.config.unequal_layers.at(0).groups.size() == (qk == QkMethod::pairs ? 3 : 2));
    const auto compressed = models::load(*model, edit);
    CHECK(compressed->parameter_count() == models::parameter_count(compressed_config(config, plan)));
    CHECK(models::parameter_count(edit.config) == models::parameter_count(compressed_config(config, plan)));
    CHECK(distance(logits_of_text(*compressed), before) > 0);
    CHECK(distance(logits_of_text(*models::load(*files, edit, {.keep = models::Keep::computed})),
                   logits_of_text(*compressed)) == 0);

    if (qk == QkMethod::pairs_even) continue;
    for (int64_t kv = 0; kv < 2; ++kv)
      for (int64_t rank = 1; rank <= 8; ++rank)
        CHECK(heads.tail({false, 0, kv}, rank) <= heads.tail({false, 0, kv}, rank - 1));
    CHECK(heads.tail({false, 0, 0}, 2) > heads.tail({false, 0, 0}, 6));
    CHECK(heads.tail({false, 0, 0}, 8) < 1e-12 * heads.tail({false, 0, 0}, 0));
  }
}

TEST_CASE("two key-value heads as one of twice the width are the original, and narrower lose least", "[compression]") {
  for (const char* name : {"llama3.1", "llama3.1.gguf", "qwen2", "llama-biases"}) {
    INFO(name);
    const Checkpoint base(name);
    const auto& [files, model, config] = base;
    const models::HeadGroup head = models::first_layer(config).groups[0];
    REQUIRE(head.key_value_heads() > 1);
    constexpr QkMethod qk = QkMethod::whitened_rotated_grouped;
    constexpr VoMethod vo = VoMethod::whitened;
    const Calibration calibration =
        calibrate(*model, some_texts(), {.needs = {.after_turn = true, .outputs = true, .joined = true}});
    const HeadDecompositions heads(*files, qk, vo, calibration);
    REQUIRE(heads.can_join());
    CompressionPlan plan = empty_plan(config, qk, vo);
    plan.joined.assign(plan.qk_ranks.size(), std::vector<bool>(plan.qk_ranks[0].size(), false));
    const size_t first = plan.joined[1].size() - 2;  // heads before the two stay as they are
    plan.joined[1][first] = true;
    plan.qk_ranks[1][first] = 2 * head.qk_dim, plan.vo_ranks[1][first] = 2 * head.v_dim;
    const Tensor before = logits_of_text(*model);
    const double size = std::sqrt(square_of(before) / static_cast<double>(before.numel()));
    const models::ModelEdit whole = heads.edit(plan);
    CHECK(whole.config.unequal_layers.at(1).groups.back().joined_keys == 2);
    CHECK(distance(logits_of_text(*models::load(*model, whole)), before) < 2e-4 * size);
    // A format of the cache has values carry what each adds to the output.
    CompressionPlan held = plan;
    for (const std::vector<int64_t>& layer : plan.qk_ranks) held.cache.emplace_back(layer.size());
    CHECK(distance(logits_of_text(*models::load(*model, heads.edit(held))), before) < 2e-4 * size);

    plan.qk_ranks[1][first] = head.qk_dim, plan.vo_ranks[1][first] = head.v_dim;
    const models::ModelEdit half = heads.edit(plan);
    const auto compressed = models::load(*model, half);
    CHECK(distance(logits_of_text(*compressed), before) > 0);
    CHECK(compressed->parameter_count() == models::parameter_count(compressed_config(config, plan)));
    CHECK(distance(logits_of_text(*models::load(*files, half, {.keep = models::Keep::computed})),
                   logits_of_text(*compressed)) == 0);
    // Of all maps of a rank those that look at one head each are some.
    const auto kv = static_cast<int64_t>(first);
    const auto tail = [&](bool is_vo, bool is_joined, int64_t from, int64_t rank) {
      return heads.tail({is_vo, 1, from, is_joined}, rank);
    };
    for (int64_t rank = 0; rank <= head.qk_dim; ++rank)
      CHECK(tail(false, true, kv, 2 * rank) <=
            (tail(false, false, kv, rank) + tail(false, false, kv + 1, rank)) * (1 + 1e-6));
    for (int64_t rank = 1; rank <= 2 * head.v_dim; ++rank)
      CHECK(tail(true, true, kv, rank) <= tail(true, true, kv, rank - 1));
    CHECK(tail(true, true, kv, 2 * head.v_dim) < 1e-12 * tail(true, true, kv, 0));
  }
}

TEST_CASE("what plain and product leave out is the error of the best approximation", "[compression]") {
  const Checkpoint base("llama3.1");  // 4 query heads, 2 key-value heads of 8
  const auto& [files, model, config] = base;
  const auto at_rank = [&](const HeadDecompositions& heads, QkMethod qk, int64_t rank) {
    return models::load(*base.model, heads.edit(uniform_plan(base.config, qk, VoMethod::none, rank, 0, {1})));
  };
  const models::HeadGroupLayer& own = model->attention(1).group(0);
  const HeadDecompositions plain(*files, QkMethod::plain, VoMethod::none);
  const auto low = at_rank(plain, QkMethod::plain, 3);
  const models::HeadGroupLayer& group = low->attention(1).group(0);
  double error = 0;
  for (int64_t h = 2; h < 4; ++h)
    error += square_of(minus(head_rows(own.q_proj(), h, 8), head_rows(group.q_proj(), h, 8)));
  error += square_of(minus(head_rows(own.k_proj(), 1, 8), head_rows(group.k_proj(), 1, 8)));
  CHECK(plain.tail({false, 1, 1}, 3) == Approx(error).epsilon(1e-5));

  const auto product = [](const models::HeadGroupLayer& layer, int64_t query, int64_t key) {
    return matmul(head_rows(layer.q_proj(), query, 8), head_rows(layer.k_proj(), key, 8), true);  // (D, D)
  };
  const HeadDecompositions products(*files, QkMethod::product, VoMethod::none);
  const auto best = at_rank(products, QkMethod::product, 3);
  error = 0;
  for (int64_t h = 2; h < 4; ++h)
    error += square_of(minus(product(own, h, 1), product(best->attention(1).group(0), h, h)));
  CHECK(products.tail({false, 1, 1}, 3) == Approx(error).epsilon(1e-4));
  double plain_error = 0;
  for (int64_t h = 2; h < 4; ++h) plain_error += square_of(minus(product(own, h, 1), product(group, h, 1)));
  CHECK(error < plain_error);

  const HeadDecompositions grouped(*files, QkMethod::product_grouped, VoMethod::none);
  const auto shared = at_rank(grouped, QkMethod::product_grouped, 3);
  error = 0;
  for (int64_t h = 2; h < 4; ++h)
    error += square_of(minus(product(own, h, 1), product(shared->attention(1).group(0), h, 1)));
  CHECK(grouped.tail({false, 1, 1}, 3) == Approx(error).epsilon(1e-4));
  CHECK(grouped.tail({false, 1, 1}, 3) > products.tail({false, 1, 1}, 3));
}

TEST_CASE("what activation-aware methods leave out is the mean square of the scores' error", "[compression]") {
  const Checkpoint base("smollm2");  // 3 query heads and a key head of 8
  const auto& [files, model, config] = base;
  const Calibration calibration = calibrated(*model);
  const models::HeadGroupLayer& own = model->attention(0).group(0);
  const auto second_moment = [&](const SecondMoments& m) { return calibration.shrunk(m, false); };
  const LayerMoments& moments = calibration.layers[0];
  for (const QkMethod qk : {QkMethod::whitened, QkMethod::whitened_grouped, QkMethod::pca}) {
    INFO(name_of(qk));
    const HeadDecompositions heads(*files, qk, VoMethod::none, calibration);
    const auto compressed = models::load(*model, heads.edit(uniform_plan(config, qk, VoMethod::none, 3, 0, {0})));
    const models::HeadGroupLayer& group = compressed->attention(0).group(0);
    double error = 0;
    for (int64_t h = 0; h < 3; ++h) {
      // W' = P W, and with C = P's own moments E(s - s')² = |C_q^½ (I - P_qᵀ P_k) C_k^½|².
      const auto map = [&](const models::Projection& to, int64_t head, const models::Projection& from, int64_t source) {
        const Tensor w = head_rows(from, source, 8), changed = head_rows(to, head, 8);  // (8, D)
        const Tensor inverse = engine::linalg::inverse_sqrt_spd(matmul(w, w, false, true));
        return matmul(matmul(changed, w, false, true), matmul(inverse, inverse));  // W' Wᵀ (W Wᵀ)⁻¹: (8, 8)
      };
      const Tensor pq = map(group.q_proj(), h, own.q_proj(), h);
      const Tensor pk = map(group.k_proj(), has_own_keys(qk) ? h : 0, own.k_proj(), 0);
      const Tensor eye = matmul(head_rows(own.q_proj(), h, 8), head_rows(own.q_proj(), h, 8), false, true);
      const Tensor one = matmul(engine::linalg::inverse_sqrt_spd(eye), engine::linalg::sqrt_spd(eye));  // I
      const Tensor left_out = minus(one, matmul(pq, pk, true));                                         // (8, 8)
      const Tensor root_q = engine::linalg::sqrt_spd(second_moment(moments.before.queries()[static_cast<size_t>(h)]));
      const Tensor root_k = engine::linalg::sqrt_spd(second_moment(moments.before.keys()[0]));
      error += square_of(matmul(matmul(root_q, left_out), root_k));
    }
    CHECK(heads.tail({false, 0, 0}, 3) == Approx(error).epsilon(1e-3));
  }
  // At equal rank the whitened method, which has each query head's own keys, leaves out least.
  const HeadDecompositions best(*files, QkMethod::whitened, VoMethod::none, calibration);
  const HeadDecompositions grouped(*files, QkMethod::whitened_grouped, VoMethod::none, calibration);
  const HeadDecompositions pca(*files, QkMethod::pca, VoMethod::none, calibration);
  CHECK(best.tail({false, 0, 0}, 3) < grouped.tail({false, 0, 0}, 3));
  CHECK(grouped.tail({false, 0, 0}, 3) < pca.tail({false, 0, 0}, 3));
}

TEST_CASE("maps made for turned scores leave out less of them than maps that ignore the turn", "[compression]") {
  const Checkpoint base("smollm2");
  const auto& [files, model, config] = base;
  const Calibration calibration = calibrated(*model);
  // E over the calibration's moments and the distances of (q_i·R k_j − q'_i·R k'_j)², with q and k independent.
  const auto error_of_scores = [&](QkMethod qk) {
    const HeadDecompositions heads(*base.files, qk, VoMethod::none, calibration);
    const auto compressed =
        models::load(*base.model, heads.edit(uniform_plan(base.config, qk, VoMethod::none, 4, 0, {0})));
    const auto scores_of = [&](const models::Transformer& of) {
      std::vector<double> scores;
      models::ForwardContext context;
      context.observer = [&](const models::AttentionInputs& in) {
        if (in.layer > 0) return;
        const int64_t length = in.q.dim(1), shared = in.q.dim(2) / in.k.dim(2), width = in.q.dim(3);
        for (int64_t h = 0; h < in.q.dim(2); ++h)
          for (int64_t i = 0; i < length; ++i)
            for (int64_t j = 0; j <= i; ++j) {
              const float* q = in.q.value().data<float>() + (i * in.q.dim(2) + h) * width;
              const float* k = in.k.value().data<float>() + (j * in.k.dim(2) + h / shared) * width;
              double sum = 0;
              for (int64_t d = 0; d < width; ++d) sum += double{q[d]} * double{k[d]};
              scores.push_back(sum);
            }
      };
      hidden_states(of, some_texts(), context);
      return scores;
    };
    const std::vector<double> before = scores_of(*base.model), after = scores_of(*compressed);
    REQUIRE(before.size() == after.size());
    double error = 0;
    for (size_t i = 0; i < before.size(); ++i) error += std::pow(before[i] - after[i], 2);
    return error;
  };
  CHECK(error_of_scores(QkMethod::whitened_relative) < error_of_scores(QkMethod::whitened_grouped));
  CHECK(error_of_scores(QkMethod::whitened_grouped) < error_of_scores(QkMethod::plain));
}

TEST_CASE("biases of queries and keys are mapped where activations are, else left whole", "[compression]") {
  const Checkpoint base("qwen2");
  const auto& [files, model, config] = base;
  const Calibration calibration = calibrated(*model);
  const Tensor bias = model->attention(0).group(0).q_proj().bias().value();
  REQUIRE(square_of(bias) > 0);
  for (const QkMethod qk : {QkMethod::plain, QkMethod::product, QkMethod::product_grouped, QkMethod::pca,
                            QkMethod::whitened, QkMethod::whitened_rotated}) {
    INFO(name_of(qk));
    const HeadDecompositions heads(*files, qk, VoMethod::none, calibration);
    const auto compressed = models::load(*model, heads.edit(uniform_plan(config, qk, VoMethod::none, 2, 0, {0})));
    const Tensor own = compressed->attention(0).group(0).q_proj().bias().value();
    CHECK((distance(own, bias) == 0) == !needs_of(qk).before_turn);
  }
}

TEST_CASE("a bias of values loses nothing where W_O has a bias to take it", "[compression]") {
  // With one token attention's output is the value itself; with a zero W_V only its bias is left.
  const auto files = models::ModelFiles::open(testing::checkpoints() / "llama-biases");
  models::ModelEdit blank{.config = files->description().config, .weights = {}};
  for (const char* layer : {"0", "1"}) {
    const std::string name = "blocks." + std::string(layer) + ".attention.0.v_proj.weight";
    blank.weights.emplace_back(name, Tensor::zeros({24, 24}, DType::f32));
  }
  const auto model = models::load(*files, blank, {.keep = models::Keep::computed});
  models::NamedWeights weights(model->weights());
  // Directions made from other values than the biases, so that these do not lie in them.
  const Calibration calibration = calibrated(*files->load({.keep = models::Keep::computed}));
  const HeadDecompositions heads(model->config(), weights, QkMethod::none, VoMethod::whitened, calibration);
  const auto plan = uniform_plan(model->config(), QkMethod::none, VoMethod::whitened, 0, 1, {0, 1});
  CHECK(distance(logits_of_text(*models::load(*model, heads.edit(plan))), logits_of_text(*model)) < 1e-5);
}

TEST_CASE("whole pairs turn as they did", "[compression]") {
  for (const char* name : {"llama3.1", "llama3.1.gguf"}) {  // pairs (p, p + 4), and (2p, 2p + 1)
    const Checkpoint base(name);
    const auto& [files, model, config] = base;
    const Calibration calibration = calibrated(*model);
    const HeadDecompositions heads(*files, QkMethod::pairs_grouped, VoMethod::none, calibration);
    const auto edit = heads.edit(uniform_plan(config, QkMethod::pairs_grouped, VoMethod::none, 4, 0, {0}));
    const auto compressed = models::load(*model, edit);
    CHECK(*edit.config.logit_scale == 1 / std::sqrt(8.0));
    const models::LayerConfig layer = edit.config.unequal_layers.at(0);
    REQUIRE(layer.groups.size() == 2);
    const std::vector<double> all = models::rope_frequencies(config, models::first_layer(config).groups[0], 0);
    for (size_t kv = 0; kv < 2; ++kv) {
      std::vector<double> energies(4, 0.0);
      const auto keys = pair_energies(calibration.layers[0].before.keys()[kv].moment(false), config.rope_interleaved);
      for (size_t h = 2 * kv; h < 2 * kv + 2; ++h) {
        const Tensor moment = calibration.layers[0].before.queries()[h].moment(false);
        const auto queries = pair_energies(moment, config.rope_interleaved);
        for (size_t p = 0; p < 4; ++p) energies[p] += queries[p] * keys[p];
      }
      std::vector<double> sorted = energies;
      std::sort(sorted.rbegin(), sorted.rend());
      const Tensor rows = head_rows(model->attention(0).group(0).k_proj(), static_cast<int64_t>(kv), 8);
      const Tensor kept = compressed->attention(0).group(kv).k_proj().weight().values(DType::f64);  // (4, D)
      int64_t next = 0;
      for (size_t p = 0; p < 4; ++p) {
        if (energies[p] < sorted[1]) continue;
        CHECK(layer.groups[kv].rope_frequencies.at(static_cast<size_t>(next)) == all[p]);
        const auto place = static_cast<int64_t>(p);
        const int64_t from = config.rope_interleaved ? 2 * place : place,
                      to = config.rope_interleaved ? 2 * next : next;
        CHECK(distance(rows.slice(0, from, from + 1), kept.slice(0, to, to + 1)) < 1e-7);
        ++next;
      }
      CHECK(next == 2);
    }
    // With a method that chooses for each query head, every one is a group.
    const HeadDecompositions each(*files, QkMethod::pairs, VoMethod::none, calibration);
    const auto own = each.edit(uniform_plan(config, QkMethod::pairs, VoMethod::none, 4, 0, {0})).config;
    CHECK(own.unequal_layers.at(0).groups.size() == 4);
    CHECK(own.unequal_layers.at(0).groups[3].rope_frequencies.size() == 2);
    CHECK(each.tail({false, 0, 0}, 4) <= heads.tail({false, 0, 0}, 4));
    // Evenly spaced ones are a plain head of half the width.
    const HeadDecompositions even(*files, QkMethod::pairs_even, VoMethod::none);
    const auto plan = uniform_plan(config, QkMethod::pairs_even, VoMethod::none, 4, 0, {0, 1});
    const models::TransformerConfig narrow = even.edit(plan).config;
    CHECK(narrow.unequal_layers.empty());
    CHECK(narrow.groups.at(0).qk_dim == 4);
    const std::vector<double> frequencies = models::rope_frequencies(narrow, narrow.groups[0], 0);
    CHECK(frequencies.at(0) == Approx(all[0]));
    CHECK(frequencies.at(1) == Approx(all[2]));
  }
}

TEST_CASE("plans that do not fit are refused in words", "[compression]") {
  const Checkpoint base("llama3.1");
  const auto& [files, model, config] = base;
  const auto refused = [&](const CompressionPlan& plan) { validate(plan, base.config); };
  const auto uniform = [&](QkMethod qk, int64_t rank) {
    return uniform_plan(base.config, qk, VoMethod::whitened, rank, 0, {1});
  };
  CHECK_THROWS_WITH(refused(uniform(QkMethod::plain, 9)),
                    contains("qk: rank 9 of layer 1, key-value head 0: expected 1 to 8"));
  CHECK_THROWS_WITH(refused(uniform(QkMethod::pairs, 3)), contains("expected one of 2, 4, 6, 8"));
  CHECK_THROWS_WITH(refused(uniform(QkMethod::pairs_even, 6)), contains("expected one of 2, 4, 8"));
  CompressionPlan plan = uniform(QkMethod::plain, 2);
  plan.vo_ranks.pop_back();
  CHECK_THROWS_WITH(refused(plan), contains("vo: ranks for 1 layers; the model has 2"));
  plan = uniform(QkMethod::plain, 2);
  plan.qk_ranks[0].push_back(1);
  CHECK_THROWS_WITH(refused(plan), contains("layer 0 has 2 key-value heads, ranks are given for 3"));
  plan = uniform_plan(config, QkMethod::whitened_rotated_grouped, VoMethod::whitened, 8, 8, {0, 1});
  plan.joined = {{true, false}, {false, false}};
  CHECK_THROWS_WITH(refused(plan), contains("layer 0, key-value head 0: joined with one that is not there, or has a"));
  plan.qk_ranks[0] = {17, 0}, plan.vo_ranks[0] = {16, 0};
  CHECK_THROWS_WITH(refused(plan),
                    contains("joined key-value heads 0 and 1: ranks 17 and 16; expected 1 to 16 and to 16"));
  plan.qk_ranks[0] = {16, 0};
  CHECK_NOTHROW(refused(plan));
  plan.qk_ranks[0] = {8, 8}, plan.vo_ranks[0] = {8, 8};
  plan.joined = {{false, false}, {false, true}};
  CHECK_THROWS_WITH(refused(plan), contains("joined with one that is not there"));
  plan.joined = {{true, false}};
  CHECK_THROWS_WITH(refused(plan), contains("joined heads: not given for each key-value head of each layer"));
  plan = uniform(QkMethod::plain, 2);
  plan.joined = {{true, false}, {false, false}};
  CHECK_THROWS_WITH(refused(plan), contains("qk plain and vo whitened: heads of this model cannot be joined"));
  CHECK_THROWS_WITH(HeadDecompositions(*files, QkMethod::pca, VoMethod::none),
                    contains("activations that the calibration"));
  const HeadDecompositions heads(*files, QkMethod::plain, VoMethod::none, {}, {0});
  CHECK_THROWS_WITH(heads.edit(uniform(QkMethod::plain, 2)), contains("layer 1 was not taken apart"));
  CHECK_THROWS_WITH(heads.edit(uniform(QkMethod::product, 2)), contains("a plan of qk product, taken apart by plain"));
  CHECK_THROWS_WITH(HeadDecompositions(*Checkpoint("gpt2").files, QkMethod::pairs_even, VoMethod::none),
                    contains("pairs-even is about rotary positions; the model has learned ones"));
  CHECK_THROWS_WITH(HeadDecompositions(*Checkpoint("qwen3").files, QkMethod::product, VoMethod::none),
                    contains("before the norm"));
  const HeadDecompositions even(*files, QkMethod::pairs_even, VoMethod::none);
  const models::TransformerConfig narrow =
      compressed_config(config, uniform_plan(config, QkMethod::plain, VoMethod::none, 2, 0, {0}));
  CHECK_THROWS_WITH(require_suited(QkMethod::plain, narrow), contains("factored already"));
  const models::TransformerConfig mapped =
      compressed_config(config, uniform_plan(config, QkMethod::whitened_rotated, VoMethod::none, 2, 0, {0, 1}));
  CHECK(unsuited_because(QkMethod::plain, mapped) ==
        "its heads are factored already: compress the model that it was made from");
  CHECK(unsuited_because(QkMethod::plain, config).empty());
  CHECK_THROWS_WITH(qk_method_named("svd"), contains("there is no method 'svd'; known: plain, product"));
  CHECK_THROWS_WITH(vo_method_named("pca"), contains("there is no method 'pca'; known: whitened"));
}

}  // namespace headroom::tasks
