#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/checkpoints/model_files.h"
#include "tasks/data/roots.h"
#include "tasks/finetune/sentences.h"
#include "tasks/measure/studied_model.h"

namespace headroom::tasks {

/// What the two stages read.
struct TwoStageSource {
  std::string model;  ///< a GGUF file or a Hugging Face folder: a path, or a name below models/ of a data folder
  std::string text = "wikitext-2/wiki.train.tokens";        ///< that stage I trains on
  std::string validation = "wikitext-2/wiki.valid.tokens";  ///< that its losses are of
  std::string sentences = "sst-2/train.tsv";                ///< labelled, that stage II trains on
  std::string dev = "sst-2/dev.tsv";                        ///< that accuracies are of
  int64_t window = 64;                                      ///< tokens that stage I is given at a time
  int64_t validation_tokens = 32768;                        ///< the first of the validation text
  int64_t validation_window = 512;
  int64_t sentence_count = 0;  ///< of those that stage II trains on, drawn by the seed; 0: all
};

/// A model in f32 with texts and sentences for it, in memory once for all who share them.
class TwoStageData {
 public:
  /// Throws Error naming what is missing or wrong.
  static std::shared_ptr<const TwoStageData> of(const TwoStageSource& source, const DataRoots& roots);
  TwoStageData(const TwoStageSource& source, const DataRoots& roots);

  /// The labelled sentences that a seed trains on.
  std::vector<LabelledSentence> sample(uint64_t seed) const;

  /// The model on a device, in f32.
  const models::Transformer& model(engine::Device device) const;
  const models::TransformerConfig& config() const { return files_->description().config; }

  TwoStageSource source;
  std::vector<int32_t> text, validation;  ///< tokens; those of validation that count
  std::vector<LabelledSentence> sentences, dev;
  std::optional<int64_t> bos;  ///< before every window and sentence, of a model that was trained with it there
  int64_t classes = 2;
  std::string identity;  ///< the hashes of all files: equal ones give equal stages

 private:
  std::unique_ptr<models::ModelFiles> files_;
  mutable ModelByDevice models_;
};

/// File → SHA-256 of what a source names. Throws Error naming what is missing.
std::map<std::string, std::string> two_stage_hashes(StudiedModel& model, const TwoStageSource& source);

}  // namespace headroom::tasks
