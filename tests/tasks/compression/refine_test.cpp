#include "tasks/compression/refine.h"

#include <filesystem>
#include <set>

#include "engine/error.h"
#include "tasks/compression/layer_probe.h"
#include "tasks/compression/methods.h"
#include "tests/models/pretrained/checkpoints.h"
#include "tests/support/error_of.h"
#include "tests/tasks/compression/texts.h"

namespace headroom::tasks {
namespace {

namespace fs = std::filesystem;
using testing::contains;
using testing::error_of;

std::vector<int32_t> some_text(int64_t count, int64_t factor) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back(static_cast<int32_t>((i * i * factor + 5 * i + 3) % 37));
  return tokens;
}

struct Narrowed {
  std::unique_ptr<models::ModelFiles> files = models::ModelFiles::open(testing::checkpoints() / "llama2-gqa");
  std::unique_ptr<models::Transformer> model = files->load({.keep = models::Keep::computed});
  models::ModelEdit edit;
  explicit Narrowed(VoMethod vo = VoMethod::none) {
    const models::TransformerConfig& config = model->config();
    const Calibration calibration = calibrate(*model, testing::texts_of(12, 0), {.needs = {.outputs = true}});
    edit = HeadDecompositions(*files, QkMethod::plain, vo, calibration)
               .edit(uniform_plan(config, QkMethod::plain, vo, 2, 3, {0, config.layers - 1}));
  }
};

RefineConfig quick(RefineTarget target) {
  return {.target = target, .steps = 60, .batch = 4, .context = 24, .lr = 3e-3, .warmup = 5};
}

bool same(const models::NamedTensors& a, const models::NamedTensors& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i].first != b[i].first || a[i].second.to_vector<float>() != b[i].second.to_vector<float>()) return false;
  return true;
}

}  // namespace

TEST_CASE("refinement by each target brings the compressed model nearer to the original", "[refine]") {
  const Narrowed base(VoMethod::whitened);
  const std::vector<int32_t> text = some_text(24, 3);
  const LayerProbe probe(*base.model, {{text.begin(), text.end()}});
  const double before = probe.kl(base.edit, 0);
  REQUIRE(before > 0);
  for (const RefineTarget target : {RefineTarget::attention, RefineTarget::hidden, RefineTarget::logits}) {
    INFO(name_of(target));
    const Refined refined = refine(*base.model, base.edit, some_text(600, 3), quick(target));
    CHECK(refined.last_loss < 0.9 * refined.first_loss);
    CHECK(refined.trained > 0);
    if (target == RefineTarget::logits) CHECK(probe.kl(refined.edit, 0) < before);
    // Nothing but the smaller maps moved.
    for (size_t i = 0; i < base.edit.weights.size(); ++i) {
      const std::string& name = base.edit.weights[i].first;
      const bool is_map = name.find("_proj.weight") != std::string::npos;
      const bool moved =
          base.edit.weights[i].second.to_vector<float>() != refined.edit.weights[i].second.to_vector<float>();
      INFO(name);
      if (!is_map) CHECK_FALSE(moved);
      // Attention weights do not depend on values.
      else if (target != RefineTarget::attention || name.find(".v_proj") == std::string::npos)
        CHECK((moved || name.find("o_proj") != std::string::npos));
    }
  }
}

TEST_CASE("a refinement that was stopped goes on to the same bits", "[refine]") {
  const Narrowed base;
  const fs::path file = fs::temp_directory_path() / "headroom-refine-test.safetensors";
  fs::remove(file);
  RefineConfig config = quick(RefineTarget::logits);
  config.steps = 12, config.save_every = 5;
  const Refined whole = refine(*base.model, base.edit, some_text(600, 3), config);

  config.checkpoint = file;
  struct Stop {};
  CHECK_THROWS_AS(refine(*base.model, base.edit, some_text(600, 3), config,
                         [](int64_t step, double) {
                           if (step == 8) throw Stop{};
                         }),
                  Stop);
  int64_t first_step = 0;
  const Refined resumed = refine(*base.model, base.edit, some_text(600, 3), config, [&](int64_t step, double) {
    if (first_step == 0) first_step = step;
  });
  CHECK(first_step == 6);
  CHECK(same(resumed.edit.weights, whole.edit.weights));
  CHECK(resumed.first_loss == whole.first_loss);
  CHECK(resumed.last_loss == whole.last_loss);

  // Another text, another training; and so are windows that begin with a token of their own.
  CHECK_THAT(error_of([&] { refine(*base.model, base.edit, some_text(600, 4), config); }), contains("refinement by"));
  config.bos = 1;
  CHECK_THAT(error_of([&] { refine(*base.model, base.edit, some_text(600, 3), config); }), contains("behind token 1"));
  config.checkpoint.clear();
  CHECK_FALSE(same(refine(*base.model, base.edit, some_text(600, 3), config).edit.weights, whole.edit.weights));
  fs::remove(file);
}

TEST_CASE("what cannot be refined is refused", "[refine]") {
  const Narrowed base;
  CHECK(error_of([&] {
          refine(*base.model, {base.model->config(), {}}, some_text(600, 3), quick(RefineTarget::logits));
        }) == "refine: no head of the compressed model has another shape than the original's");
  CHECK_THAT(error_of([&] { refine(*base.model, base.edit, some_text(20, 3), quick(RefineTarget::logits)); }),
             contains("has 20 tokens"));
  RefineConfig config = quick(RefineTarget::logits);
  config.lr = 0;
  CHECK(error_of([&] { refine(*base.model, base.edit, some_text(600, 3), config); }) ==
        "refine: lr: expected a number above 0, got 0");
  CHECK(error_of([] { refine_target_named("loss"); }) ==
        "refine: there is no target 'loss'; known: attention, hidden, logits");
}

}  // namespace headroom::tasks
