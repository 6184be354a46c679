// Whole heads, and layers, taken out of models.
#include "tasks/compression/head_removal.h"

#include <cmath>

#include "engine/error.h"
#include "engine/ops/attention/attention.h"
#include "models/costs.h"
#include "models/write/export.h"
#include "tasks/compression/layer_weights.h"
#include "tasks/compression/refine.h"
#include "tests/models/pretrained/checkpoints.h"
#include "tests/models/write/edits.h"
#include "tests/support/error_of.h"
#include "tests/support/folder.h"
#include "tests/tasks/compression/texts.h"

namespace headroom::tasks {
namespace {

using testing::all_layers;
using testing::error_of;
using testing::logits_of;
using testing::relative_difference;

constexpr RemovedPart parts[] = {RemovedPart::heads, RemovedPart::key_value_heads, RemovedPart::attention,
                                 RemovedPart::layers};

/// A small model in memory, and what can be taken out of it.
struct Pieces {
  std::unique_ptr<models::ModelFiles> files;
  std::unique_ptr<models::Transformer> model;
  HeadRemoval removal;
  Pieces(const std::string& name, RemovedPart part)
      : files(models::ModelFiles::open(testing::checkpoints() / name)),
        model(files->load({.keep = models::Keep::computed})),
        removal(model->config(), *files->weights({.keep = models::Keep::computed}), part, all_layers(model->config())) {
  }
};

}  // namespace

TEST_CASE("a model without pieces computes what it computes where they add zeros", "[head removal]") {
  for (const char* family :
       {"llama2-gqa", "llama-biases", "smollm2", "gpt2", "qwen2", "qwen3", "gemma3", "mistral-window"})
    for (const RemovedPart part : parts)
      for (const uint64_t seed : {1, 2, 3}) {
        const Pieces own(family, part);
        const int64_t count = std::ssize(own.removal.pieces()) / 2;
        INFO(family << " without " << count << " " << name_of(part) << ", seed " << seed);
        const RemovedPieces gone = drawn(own.removal, count, seed);
        REQUIRE(std::ssize(gone) == count);
        const models::ModelEdit smaller = own.removal.edit(gone), silent = own.removal.silenced(gone);
        const auto small = models::load(*own.model, smaller), same = models::load(*own.model, silent);
        CHECK(relative_difference(logits_of(*small), logits_of(*same)) < 1e-5);
        CHECK(relative_difference(logits_of(*small), logits_of(*own.model)) > 1e-4);
        CHECK(small->parameter_count() == models::parameter_count(smaller.config));
        CHECK(small->parameter_count() < own.model->parameter_count());
        CHECK(same->parameter_count() == own.model->parameter_count());
      }
}

TEST_CASE("the output of the heads that stay is fitted to what all gave", "[head removal]") {
  for (const char* family : {"llama2-gqa", "gpt2", "qwen2"}) {
    INFO(family);
    const Pieces own(family, RemovedPart::heads);
    const TokenBatch texts = testing::texts_of(40, 0);
    const Calibration calibration = calibrate(*own.model, texts, {.needs = {.whole_outputs = true}});
    const RemovedPieces gone{{0, 1}, {1, 0}};
    const models::ModelEdit fitted = own.removal.edit(gone, &calibration),
                            silent = own.removal.silenced(gone, &calibration);
    const auto small = models::load(*own.model, fitted), same = models::load(*own.model, silent),
               cut = models::load(*own.model, own.removal.edit(gone));
    CHECK(relative_difference(logits_of(*small), logits_of(*same)) < 1e-5);
    CHECK(small->parameter_count() == cut->parameter_count());
    // By hand, in the first layer, whose input is the whole model's: the error has no part that the kept heads explain.
    std::vector<Tensor> outputs;
    models::ForwardContext context;
    context.observer = [&](const models::AttentionInputs& in) {
      if (in.layer == 0)
        outputs.push_back(
            engine::attention(in.q.value(), in.k.value(), in.v.value(), {}, in.options).y);  // (1, T, H, d)
    };
    for (const auto& text : texts) own.model->forward(Tensor::from({1, std::ssize(text)}, text), context);
    const std::string name = "blocks.0.attention.o_proj.weight";
    const auto weight_of = [&](const models::ModelEdit& edit) {
      for (const auto& [own_name, tensor] : edit.weights)
        if (own_name == name) return tensor;
      FAIL(name);
      return Tensor();
    };
    const Tensor after = weight_of(silent), before = weight_of(own.removal.silenced({{0, 1}}));
    const auto weights = own.files->weights({.keep = models::Keep::computed});
    const Tensor whole = attention_weights(own.model->config(), *weights, 0).at(name);  // (D, H·d)
    const int64_t width = after.dim(1), dim = own.model->config().groups.at(0).v_dim;
    std::vector<double> explained(static_cast<size_t>(width));  // Σ e_0 a_j, of the first number that W_O gives
    double error = 0, error_before = 0, squares = 0;
    for (const Tensor& y : outputs)
      for (int64_t t = 0; t < y.dim(1); ++t) {
        const float* a = y.data<float>() + t * width;
        const auto first = [&](const Tensor& w) {
          double sum = 0;
          for (int64_t j = 0; j < width; ++j) sum += static_cast<double>(w.data<float>()[j]) * a[j];
          return sum;
        };
        const double e = first(whole) - first(after);
        error += e * e, error_before += std::pow(first(whole) - first(before), 2), squares += std::pow(first(whole), 2);
        for (int64_t j = 0; j < width; ++j) explained[static_cast<size_t>(j)] += e * a[j];
      }
    CHECK(error < error_before);
    for (int64_t j = 0; j < width; ++j)
      if (j / dim != 1) CHECK(std::abs(explained[static_cast<size_t>(j)]) < 1e-3 * squares);
  }
}

TEST_CASE("what a head takes with it", "[head removal]") {
  const Pieces own("llama2-gqa", RemovedPart::heads);  // three query heads read each key
  const models::HeadGroup group = own.model->config().groups.at(0);
  const int64_t width = own.model->config().width, all = models::parameter_count(own.model->config());
  REQUIRE(group.heads == 3 * group.key_value_heads());
  const auto parameters = [&](const RemovedPieces& gone) {
    return all - models::parameter_count(own.removal.edit(gone).config);
  };
  const auto cache = [&](const RemovedPieces& gone) {
    return models::cache_bytes(own.removal.edit(gone).config, {}) / (4 * 2 * group.qk_dim);
  };
  const int64_t rows = group.qk_dim * width, kv_heads = own.model->config().layers * group.key_value_heads();
  CHECK(parameters({{0, 1}}) == 2 * rows);                  // its queries, and its columns of W_O
  CHECK(parameters({{0, 1}, {0, 3}, {0, 4}}) == 6 * rows);  // of two keys, which both are still read
  CHECK(parameters({{0, 0}, {0, 1}, {0, 2}}) == 8 * rows);  // and the key and the value that none reads any more
  CHECK(cache({{0, 1}, {0, 3}, {0, 4}}) == kv_heads);
  CHECK(cache({{0, 0}, {0, 1}, {0, 2}}) == kv_heads - 1);
  const models::LayerConfig layer = models::layers_of(own.removal.edit({{0, 3}}).config)[0];
  REQUIRE(layer.groups.size() == 2);
  CHECK(layer.groups[0].heads == group.heads - 3);
  CHECK(layer.groups[1].heads == 2);
}

TEST_CASE("a model without some layers' attention decodes, is written and read back", "[head removal]") {
  for (const RemovedPart part : {RemovedPart::attention, RemovedPart::layers})
    for (const char* family : {"smollm2", "gemma3"}) {
      INFO(family << " without " << name_of(part));
      const Pieces own(family, part);
      const models::ModelEdit edit = own.removal.edit({{0, 0}});
      const auto small = models::load(*own.model, edit);
      const std::vector<int32_t> ids = testing::some_tokens(9);
      const Tensor tokens = Tensor::from({1, 9}, std::vector<int64_t>(ids.begin(), ids.end()));
      const std::vector<double> whole = small->forward(tokens).value().to_vector<double>();
      models::ModelCache cache(edit.config);
      std::vector<double> decoded;
      for (int64_t at = 0; at < 9; ++at) {
        const Tensor one = small->decode(tokens.slice(1, at, at + 1).contiguous(), cache).contiguous();
        for (const double logit : one.to_vector<double>()) decoded.push_back(logit);
      }
      CHECK(relative_difference(decoded, whole) < 1e-5);
      const testing::TemporaryFolder folder;
      models::export_model(*own.files, edit, models::ExportFormat::compact, folder / "compact");
      models::export_model(*own.files, own.removal.silenced({{0, 0}}), models::ExportFormat::compat, folder / "compat");
      for (const char* name : {"compact", "compat"})
        CHECK(relative_difference(logits_of(*models::ModelFiles::open(folder / name)->load()), logits_of(*small)) <
              1e-5);
    }
}

TEST_CASE("GGUF files of llamas hold layers that lack heads, or have fewer", "[head removal]") {
  using models::ExportFormat;
  for (const char* family : {"llama2-gqa", "llama2-gqa.gguf", "llama3.1", "llama3.1.gguf", "llama-biases"})
    for (const RemovedPart part : {RemovedPart::key_value_heads, RemovedPart::attention, RemovedPart::layers}) {
      INFO(family << " without " << name_of(part));
      const Pieces own(family, part);
      const models::ModelEdit edit = own.removal.edit({{1, 0}});
      const testing::TemporaryFolder folder;
      const auto path = folder / "plain.gguf";
      REQUIRE(models::refusal_of(ExportFormat::plain, *own.files, edit.config, path).empty());
      models::export_model(*own.files, edit, ExportFormat::plain, path);
      const auto read = models::ModelFiles::open(path);
      CHECK(models::parameter_count(read->description().config) == models::parameter_count(edit.config));
      CHECK(relative_difference(logits_of(*read->load()), logits_of(*models::load(*own.model, edit))) < 1e-5);
      models::convert_model(path, folder / "again.gguf");
      CHECK(relative_difference(logits_of(*models::ModelFiles::open(folder / "again.gguf")->load()),
                                logits_of(*read->load())) == 0);
      CHECK_THAT(testing::error_of([&] { models::convert_model(path, folder / "folder"); }),
                 testing::contains("layers that differ in their heads: no config.json of llama says so"));
    }
  const auto refusal = [](const char* family, RemovedPart part, const RemovedPieces& gone, const char* to) {
    const Pieces own(family, part);
    return models::refusal_of(ExportFormat::plain, *own.files, config_without(own.model->config(), part, gone), to);
  };
  CHECK_THAT(refusal("llama2-gqa", RemovedPart::heads, {{1, 0}}, "m.gguf"), testing::contains("remove kv-heads"));
  CHECK_THAT(refusal("llama2-gqa", RemovedPart::attention, {{0, 0}}, "m.gguf"),
             testing::contains("the first layer has no heads"));
  for (const auto& [family, to] :
       {std::pair{"llama2-gqa", "folder"}, {"gemma3", "m.gguf"}, {"mistral-window", "m.gguf"}})
    CHECK_THAT(refusal(family, RemovedPart::attention, {{1, 0}}, to), testing::contains("GGUF files of llamas alone"));
}

TEST_CASE("pieces go in the order of what the model loses beside those that are gone", "[head removal]") {
  const Pieces own("llama2-gqa", RemovedPart::heads);
  const auto removal = std::make_shared<HeadRemoval>(own.removal);
  const auto probe = std::make_shared<LayerProbe>(*own.model, testing::texts_of(2, 12));
  RemovalOrder order(removal, probe);
  const RemovedPieces gone = order.first(3);
  RemovedPieces so_far;
  for (const RemovedPiece& next : gone) {
    const auto without = [&](const RemovedPiece& piece) {
      RemovedPieces tried = so_far;
      tried.push_back(piece);
      return probe->kl(removal->edit(tried), 0);
    };
    for (const RemovedPiece& other : removal->pieces())
      if (std::find(gone.begin(), gone.end(), other) == gone.end()) CHECK(without(next) <= without(other));
    so_far.push_back(next);
  }
  CHECK(order.first(1) == RemovedPieces{gone[0]});
  CHECK(RemovalOrder(removal, probe).first(2) == RemovedPieces{gone[0], gone[1]});
  const double kl = probe->kl(removal->edit({gone[0], gone[1]}), 0);
  CHECK(RemovalOrder(removal, probe).within(kl).size() >= 2);
  CHECK(RemovalOrder(removal, probe).within(1e-12).empty());
}

TEST_CASE("what is left of a layer's heads is refined", "[head removal]") {
  const Pieces own("llama2-gqa", RemovedPart::heads);
  const LayerProbe probe(*own.model, testing::texts_of(2, 12));
  const models::ModelEdit edit = own.removal.edit({{0, 1}, {0, 3}});
  std::vector<int32_t> text;
  for (const std::vector<int64_t>& own_text : testing::texts_of(20, 0))
    text.insert(text.end(), own_text.begin(), own_text.end());
  RefineConfig training{
      .target = RefineTarget::logits, .steps = 60, .batch = 4, .context = 24, .lr = 3e-3, .warmup = 5};
  const Refined refined = refine(*own.model, edit, text, training);
  CHECK(refined.last_loss < 0.9 * refined.first_loss);
  CHECK(probe.kl(refined.edit, 0) < probe.kl(edit, 0));
  training.target = RefineTarget::attention;
  CHECK(error_of([&] { (void)refine(*own.model, edit, text, training); }) ==
        "refine: by attention each head learns from its own, and some are gone: by hidden or logits");
}

TEST_CASE("what cannot be removed is refused", "[head removal]") {
  const Pieces own("llama2-gqa", RemovedPart::heads);
  const int64_t layers = own.model->config().layers, all = std::ssize(own.removal.pieces());
  CHECK(error_of([&] {
          (void)own.removal.edit({{layers, 0}});
        }) == fmt::format("removal: there is no piece 0 of layer {}", layers));
  CHECK(error_of([&] { (void)own.removal.edit({{0, 1}, {0, 1}}); }) == "removal: piece 1 of layer 0 is given twice");
  CHECK(error_of([&] { (void)own.removal.edit(own.removal.pieces()); }) ==
        "model.groups is empty; it must hold at least one group of heads");
  CHECK(error_of([&] { (void)drawn(own.removal, all, 0); }) ==
        fmt::format("removal: {} of {} heads: one must stay", all, all));
  CHECK(error_of([&] { (void)removed_part_named("head"); }) ==
        "removal: there is no part 'head'; known: heads, kv-heads, attention, layers");
}

}  // namespace headroom::tasks
