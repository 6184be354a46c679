#pragma once
#include <map>
#include <string>
#include <utility>

#include "tasks/measure/head_source.h"
#include "tasks/measure/studied_model.h"
#include "tasks/measurement.h"

namespace headroom::tasks {

/// A head and its input.
struct StudiedHead {
  HeadMaps maps;
  engine::Tensor tokens;  ///< (D, L)
  double norm = 0;        ///< B, the largest norm of a token
};

/// Loads a source's head and its tokens, from any kind of source. Opens a file's model on first use and keeps it, so
/// that trials of a process share it. Safe to call from several threads.
class HeadLoader {
 public:
  HeadLoader(HeadSource source, DataRoots roots)
      : source_(std::move(source)), model_(source_.model, std::move(roots)) {}

  /// `norm`: of random tokens. `seed`: of random heads and tokens, or the span number for a model in files. Throws
  /// Error as load_head(), head_tokens() and head_of_model().
  StudiedHead load(HeadTokens kind, int64_t length, double norm, uint64_t seed) const;
  /// "head 0 of layer 3 of runs/a"
  std::string name() const;
  /// File → SHA-256 of its inputs; none if a model's file or text is missing.
  std::map<std::string, std::string> hashes() const;

 private:
  StudiedModel& model() const { return model_.get(); }

  HeadSource source_;
  mutable HeldModel model_;
};

/// A measurement of one head, that of the config's `head`.
template <class Config>
class HeadMeasurement : public ConfiguredMeasurement<Config> {
 public:
  explicit HeadMeasurement(const Config& config, const DataRoots& roots = {})
      : ConfiguredMeasurement<Config>(config), loader_(config.head, roots) {}
  std::map<std::string, std::string> data_hashes() const override { return loader_.hashes(); }

 protected:
  StudiedHead studied(uint64_t seed) const {
    return loader_.load(this->config_.tokens, this->config_.length, this->config_.token_norm, seed);
  }

  HeadLoader loader_;
};

}  // namespace headroom::tasks
