#pragma once
#include <map>
#include <string>
#include <utility>

#include "tasks/measure/head_source.h"
#include "tasks/measure/studied_model.h"

namespace headroom::tasks {

/// A head and what it reads.
struct StudiedHead {
  HeadMaps maps;
  engine::Tensor tokens;  ///< (D, L)
  double norm = 0;        ///< B, the largest norm of a token
};

/// Brings the head of a source and its tokens, whatever they come from. A model of files is opened when it is first
/// needed and kept, so that the trials of a process share it. Safe to call from several threads.
class HeadLoader {
 public:
  HeadLoader(HeadSource source, DataRoots roots)
      : source_(std::move(source)), model_(source_.model, std::move(roots)) {}

  /// `norm`: of random tokens. `seed`: of random heads and tokens; the number of the span that a model of files reads.
  /// Throws Error as load_head(), head_tokens() and head_of_model().
  StudiedHead load(HeadTokens kind, int64_t length, double norm, uint64_t seed) const;
  /// "head 0 of layer 3 of runs/a"
  std::string name() const;
  /// File → SHA-256 of what it reads; none where a model of files, or its text, is missing.
  std::map<std::string, std::string> hashes() const;

 private:
  StudiedModel& model() const { return model_.get(); }

  HeadSource source_;
  mutable HeldModel model_;
};

}  // namespace headroom::tasks
