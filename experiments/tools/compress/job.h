#pragma once
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/write/export.h"
#include "tasks/compression/compress.h"
#include "tasks/measure/text_tokens.h"

namespace headroom::experiments {

inline constexpr int64_t usual_tokens = 8192;  ///< of a text whose range is not given

/// Tokens [begin, end) of a text file, as a command names them.
struct TextRange {
  std::string file, sha256;
  int64_t begin = 0, end = 0;
  std::vector<int32_t> tokens{};  ///< those
  int64_t count() const { return end - begin; }
};

/// The range "A:B" of a file with the ids `all` ("A:" to its end, ":B" or "B" from its beginning); "": the first
/// `usual`, or all where there are fewer. `option`: how the range is given, for messages. Throws Error naming file and
/// range where the range is none, or not in the text.
TextRange text_range(const std::string& file, const std::vector<int32_t>& all, const std::string& range, int64_t usual,
                     const std::string& option);

/// Throws Error naming both texts with their hashes, and what the first is for ("calibration"), where they have tokens
/// in common: ranges of one file (or of a copy of it) that overlap, or 64 tokens in a row that are in both.
void require_disjoint(const char* use, const TextRange& text, const TextRange& evaluation);

/// What `compress` is called with.
struct CompressArguments {
  std::string model, out, part, method, vo_method, layers = "all", format, dtype, device = "cpu";
  std::string calibrate, calibrate_tokens, eval, eval_tokens;
  std::optional<int64_t> rank{}, vo_rank{}, mean_rank{};
  /// In place of rank, as mean_rank: exactly one of them is given, the others are no numbers.
  double keep = std::nan(""), cache = std::nan(""), kl = std::nan("");
  std::string budget;  ///< likewise: "cache=0.5", "bytes=6120", "kl=0.02" or "loss=0.01"; this last if nothing is given
  std::string curve;   ///< SVG of loss against bytes of such budgets
  std::string remove;  ///< "heads", …: in place of part, method and rank; keep is the share of them that stays, or kl
  int64_t budget_tokens = 512;
  int64_t context = 0, seed = 0;
  std::string refine, refine_text, refine_tokens, checkpoint;
  tasks::RefineConfig training{};
  int threads = 0;
  bool force = false, json = false, without_speed = false, refit = false;
  std::string command;  ///< the command line as it was given, for the model card
};

/// What is to be done, all of it checked before a weight is read.
struct CompressJob {
  std::shared_ptr<tasks::StudiedModel> base;
  tasks::CompressionRequest request{};
  models::ExportFormat format{};
  std::optional<TextRange> calibration{}, evaluation{}, refinement{};
  tasks::TextCut cut{};  ///< how these became tokens
  const models::ModelDescription& description() const { return base->description(); }
};

/// The option that is missing; null where none is. Where nothing says what to cut, --budget loss=0.01 does.
const char* missing_option(const CompressArguments& arguments);

/// Settles arguments that were left out (the context). Throws Error for what no model can be made by, for a format that
/// cannot hold it, an OUT that exists, and texts that are too short, or have text in common that they must not have.
CompressJob job_of(CompressArguments& arguments);

/// What is to be said where fewer tokens calibrate than 4 times the model's width: a covariance of D numbers has as
/// many directions, and those that no token shows cost nothing by it. "" where there are enough, or none are needed.
std::string calibration_note(const CompressJob& job);

/// "--rank 16", "--keep 0.5": how the ranks were asked for, or how many pieces stay.
std::string rank_option(const CompressArguments& arguments);

}  // namespace headroom::experiments
