#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tasks/compression/cache_budget.h"
#include "tasks/compression/head_budget.h"
#include "tasks/compression/head_removal.h"
#include "tasks/compression/kept_losses.h"
#include "tasks/compression/refine.h"
#include "tasks/measure/studied_model.h"

namespace headroom::tasks {

/// How much of the heads may stay. All but `given` is shared out by what each head or piece loses on the calibration.
struct Allowance {
  enum class Of {
    given,        ///< the plan's ranks; of pieces a share, drawn by the seed
    same_cost,    ///< as much as the plan's ranks take (HeadCosts::saved())
    parameters,   ///< a share of the parameters that may change, or of the pieces
    cache,        ///< a share of the numbers in the whole cache
    kl,           ///< the least within so many nats of divergence
    cache_share,  ///< a share of the cache's bytes in f16; this and the next choose formats, too (CacheBudget)
    cache_bytes,  ///< bytes a token
    cache_kl,     ///< the fewest bytes within so many nats
    cache_tried,  ///< the fewest bytes of a model that CompressionRequest::accepts, f16's if it accepts none
  };
  Of of = Of::given;
  double value = 1;

  bool is_measured() const { return of != Of::given; }
  bool names_formats() const { return of >= Of::cache_share; }
  /// Bytes a token, of cache_share and cache_bytes; `full`: the original's in f16.
  int64_t bytes(int64_t full) const {
    return static_cast<int64_t>(of == Of::cache_share ? value * static_cast<double>(full) : value);
  }
};

/// A request for a smaller model.
struct CompressionRequest {
  CompressionPlan plan{};                ///< the methods, and the ranks unless the allowance shares out others
  std::set<int64_t> layers{};            ///< that may change
  std::optional<RemovedPart> removed{};  ///< pieces that go, in place of a plan
  bool refits_output = false;            ///< of these, heads: W_O is fitted anew to those that stay
  Allowance allowance{};
  uint64_t seed = 0;                   ///< of pieces that are drawn
  bool keeps_shapes = false;           ///< pieces that go add zeros at the original's shapes
  std::string calibration_name{};      ///< of the calibration: what is made from it is kept by this name
  std::vector<int32_t> calibration{};  ///< a text's tokens, read where needs_of(), the allowance or a refit say so
  int64_t context = 512;               ///< tokens that the model sees at once
  int64_t format_tokens = 512;         ///< of the calibration on which a budget that names formats is measured
  /// True if a model is good enough, given with the divergence that was measured and its cache's bytes a token.
  std::function<bool(const MeasuredPlan& plan, const models::ModelEdit& edit, int64_t bytes)> accepts{};
  std::shared_ptr<KeptLosses> kept{};        ///< where measured losses are kept; null: nowhere
  std::optional<RefineConfig> refinement{};  ///< trains what became smaller
  std::vector<int32_t> refinement_text{};
  /// Calibrates at once for all methods, and takes all layers apart: for several requests of one model.
  bool serves_others = false;
};

/// A smaller model, and how it came about.
struct Compressed {
  CompressionPlan plan{};
  RemovedPieces removed{};  ///< ascending
  int64_t pieces = 0;       ///< that there were of them
  models::ModelEdit edit{};
  std::string shortage{};  ///< see Calibration::shortage()
  /// Of a budget that names formats: bytes a token, the original's in f16, and the divergence on the calibration,
  /// losses of single places added up and all at once.
  struct Cache {
    int64_t bytes = 0, original = 0;
    double expected_kl = 0, measured_kl = 0;
  };
  std::optional<Cache> cache{};
  /// A refinement's losses in its first and last steps, and how many numbers it trained.
  struct Refinement {
    double first_loss = 0, last_loss = 0;
    int64_t trained = 0;
  };
  std::optional<Refinement> refinement{};
};

/// Gets the current step, and the share of it done.
using CompressionProgress = std::function<void(const std::string& what, double share)>;

/// The steps of a request, in order: progress reports on each begin with its name and ": ".
std::vector<std::string> steps_of(const CompressionRequest& request, const models::TransformerConfig& config);

/// The pipeline of the command and of studies: calibrates, takes heads apart, spends the allowance or removes pieces,
/// and refines. The model keeps what is made on the way, for further requests. Throws Error as these steps do.
Compressed compress(StudiedModel& model, const CompressionRequest& request, engine::Device device,
                    const CompressionProgress& progress = {});

/// The CacheBudget of a request that names formats; the model keeps it.
std::shared_ptr<const CacheBudget> cache_budget(StudiedModel& model, const CompressionRequest& request,
                                                engine::Device device, const CompressionProgress& progress = {});

}  // namespace headroom::tasks
