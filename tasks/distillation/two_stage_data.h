#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/checkpoints/model_files.h"
#include "tasks/data/locate.h"
#include "tasks/finetune/sentence_classification.h"
#include "tasks/measure/studied_model.h"

namespace headroom::tasks {

/// The inputs of the two stages.
struct TwoStageSource {
  std::string model;  ///< a GGUF file or a Hugging Face folder: a path, or a name below models/ of a data folder
  std::string text = "wikitext-2/wiki.train.tokens";        ///< training text of stage I
  std::string validation = "wikitext-2/wiki.valid.tokens";  ///< text for its losses
  std::string sentences = "sst-2/train.tsv";                ///< labelled training sentences of stage II
  std::string dev = "sst-2/dev.tsv";                        ///< sentences for accuracies
  int64_t window = 64;                                      ///< tokens per window in stage I
  int64_t validation_tokens = 32768;                        ///< number of leading tokens of the validation text used
  int64_t validation_window = 512;
  int64_t sentence_count = 0;  ///< sentences of stage II, drawn by the seed; 0: all
};

/// A model in f32 with its texts and sentences, in memory once for all users.
class TwoStageData {
 public:
  /// Throws Error naming anything missing or wrong.
  static std::shared_ptr<const TwoStageData> of(const TwoStageSource& source, const DataRoots& roots);
  TwoStageData(const TwoStageSource& source, const DataRoots& roots);

  /// The labelled training sentences of a seed.
  std::vector<LabelledSentence> sample(uint64_t seed) const;

  /// The model on a device, in f32.
  const models::Transformer& model(engine::Device device) const;
  const models::TransformerConfig& config() const { return files_->description().config; }

  TwoStageSource source;
  std::vector<int32_t> text, validation;  ///< tokens; validation holds only those used
  std::vector<LabelledSentence> sentences, dev;
  std::optional<int64_t> bos;  ///< put before every window and sentence, if the model was trained with it
  int64_t classes = 2;
  std::string identity;  ///< the hashes of all files: if equal, stages are equal

 private:
  std::unique_ptr<models::ModelFiles> files_;
  mutable ModelByDevice models_;
};

/// File → SHA-256 of a source's files. Throws Error naming a missing one.
std::map<std::string, std::string> two_stage_hashes(StudiedModel& model, const TwoStageSource& source);

}  // namespace headroom::tasks
