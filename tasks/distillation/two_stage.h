#pragma once
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tasks/data/locate.h"
#include "tasks/distillation/factored_heads.h"
#include "tasks/distillation/stages.h"
#include "tasks/distillation/two_stage_data.h"
#include "tasks/measurement.h"

namespace headroom::tasks {

/// The classifier to measure.
enum class TwoStageRow {
  compressed,  ///< the model with factored heads
  teacher,     ///< the whole model, fine-tuned
  head_only,   ///< the unchanged model; only the classifier's readout is trained
};
inline constexpr NameTable<TwoStageRow, 3> two_stage_row_names{{{TwoStageRow::compressed, "compressed"},
                                                                {TwoStageRow::teacher, "teacher"},
                                                                {TwoStageRow::head_only, "head-only"}}};

/// One stage's AdamW settings.
struct StageSettings {
  int64_t steps = 0;   ///< of stage I
  int64_t epochs = 0;  ///< of the other stages
  int64_t batch = 16;
  double rate = 1e-4;
};

/// The paper's two stages (Fig. 5). First heads become factors. Stage I refines them against the whole language model
/// on a text. Stage II adds a classifier's readout and distils from the whole model, fine-tuned on the task.
struct TwoStageConfig {
  using Made = class TwoStage;
  static constexpr bool runs_on_devices = true;
  TwoStageSource source;
  TwoStageRow row = TwoStageRow::compressed;
  std::string layers = "all";  ///< layers_named()
  int64_t rank = 16;
  FactorInit init = FactorInit::svd;
  bool has_stage_one = true, has_stage_two = true;
  StageSettings teacher{.epochs = 3, .batch = 16, .rate = 2e-5};
  StageSettings one{.steps = 400, .batch = 4, .rate = 1e-3};
  StageSettings two{.epochs = 3, .batch = 16, .rate = 1e-3};
};

/// Throws Error naming the field and what is allowed.
void validate(const TwoStageConfig& config);

/// Metrics: `accuracy`, `percent_accuracy` and `dev_cross_entropy` of the classifier on the dev sentences. Of a
/// compressed model also, on the validation text, the language model's cross-entropy `init_loss` and `stage1_loss`,
/// before and after stage I, and what stage I makes small, `init_distillation` and `stage1_distillation`: KL of the
/// logits plus the relative squared error of the final hidden states; `base_loss` is the whole model's cross-entropy.
/// Without stage I what is after is what was before. Of all but the compressed model with SVD and both stages,
/// McNemar's exact test against that one on the same sentences: `mcnemar_p`, two-sided, `reference_accuracy`, and how
/// many sentences only one of the two has right, `only_reference` and `only_this`.
class TwoStage : public Measurement {
 public:
  TwoStage(const TwoStageConfig& config, const DataRoots& roots);
  void check() const override;
  Metrics compute(uint64_t seed) const override;
  std::optional<Metrics> run(uint64_t seed, const MeasurementRun& how) const override;
  int64_t steps() const override;
  std::map<std::string, std::string> data_hashes() const override;
  std::string describe() const override;

 private:
  std::shared_ptr<const TwoStageData> data() const;

  TwoStageConfig config_;
  DataRoots roots_;
  mutable HeldModel model_;  ///< for its description and file hashes
  mutable std::mutex loading_;
  mutable std::shared_ptr<const TwoStageData> data_;
};

/// The metric names of a config, and all there are.
std::set<std::string> metric_names_of(const TwoStageConfig& config);
std::vector<std::string> two_stage_metrics();

}  // namespace headroom::tasks
