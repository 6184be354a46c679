#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/checkpoints/model_edit.h"
#include "tasks/compression/calibration.h"
#include "tasks/compression/kept_losses.h"
#include "tasks/compression/layer_probe.h"

namespace headroom::tasks {

/// A kind of piece to remove from a model.
enum class RemovedPart {
  heads,            ///< a query head, and with the last one that reads it a key and a value
  key_value_heads,  ///< a key and a value with all query heads that read them
  attention,        ///< the attention of a layer, its norm included
  layers,           ///< a layer
};
/// "heads", "kv-heads", "attention", "layers".
const char* name_of(RemovedPart part);
std::vector<std::string> removed_part_names();
/// Throws Error that lists the names.
RemovedPart removed_part_named(std::string_view name);

/// Piece `index` of a layer: a query head or a key-value head; 0 if a layer has one such piece.
struct RemovedPiece {
  int64_t layer = 0, index = 0;
  auto operator<=>(const RemovedPiece&) const = default;
};
using RemovedPieces = std::vector<RemovedPiece>;

/// All pieces of some layers, in order. Throws Error if the model has layers of different shapes, factors, or norms
/// after its sums.
RemovedPieces pieces_of(RemovedPart part, const models::TransformerConfig& base, const std::set<int64_t>& layers);

/// The config of the model without them. Heads of a layer whose keys are read by as many query heads are one group.
/// Throws Error for what is no piece, or given twice, and where no head of any layer stays.
models::TransformerConfig config_without(const models::TransformerConfig& base, RemovedPart part,
                                         const RemovedPieces& removed);

/// Takes pieces out of a model.
class HeadRemoval {
 public:
  /// Reads the attention of `layers`. Throws Error as pieces_of(), and as the source does.
  HeadRemoval(const models::TransformerConfig& base, models::WeightSource& weights, RemovedPart part,
              const std::set<int64_t>& layers);

  RemovedPart part() const { return part_; }
  const models::TransformerConfig& base() const { return base_; }
  const RemovedPieces& pieces() const { return pieces_; }
  /// The number of pieces to remove so that this share stays, at least one.
  int64_t count_beside(double share) const;

  /// The model without them: smaller, and its cache, too. With `refit`, which needs whole_outputs of the layers, W_O of
  /// the heads that stay in a layer is the one with which they come nearest to what all heads gave on its texts, in
  /// least squares. Throws Error as config_without().
  models::ModelEdit edit(const RemovedPieces& removed, const Calibration* refit = nullptr) const;
  /// The same model at the original's shapes, for files that hold no others: what is gone adds zeros.
  models::ModelEdit silenced(const RemovedPieces& removed, const Calibration* refit = nullptr) const;

 private:
  const Tensor& output_of(int64_t layer) const;  ///< W_O (D, H·d)
  /// The same for the heads that stay, fitted anew or as it was, with 0 in the columns of those that are gone.
  Tensor refitted(int64_t layer, const std::vector<bool>& heads, const Calibration& calibration) const;
  Tensor silenced(int64_t layer, const std::vector<bool>& heads) const;

  models::TransformerConfig base_;
  RemovedPart part_;
  RemovedPieces pieces_;
  std::map<std::string, Tensor> weights_;  ///< of the attention of the layers, by our names
};

/// Tokens on which each piece's loss is measured: half of what heads alone get, as many more measurements are made.
inline constexpr int64_t removal_tokens = 512;

/// The order in which pieces go. A round measures, for every piece left, the KL divergence of the model without it and
/// those already gone, from its layer on; then the sixteenth of all pieces, or at least one, that loses least goes, and
/// the next round begins. Several threads may ask for it.
class RemovalOrder {
 public:
  /// `progress` gets the pieces gone, the measurements done since, and the share of the time for those asked for.
  /// `kept`, if any, keeps the losses.
  RemovalOrder(std::shared_ptr<const HeadRemoval> removal, std::shared_ptr<const LayerProbe> probe,
               std::function<void(int64_t, int64_t, double)> progress = {}, std::shared_ptr<KeptLosses> kept = nullptr);
  /// The first `count`. Measures what that takes beyond what was asked for before. Throws Error for more than all but
  /// one piece.
  RemovedPieces first(int64_t count);
  /// The most pieces, in this order, without which the model is within `kl` nats of the whole one. Throws Error unless
  /// kl > 0.
  RemovedPieces within(double kl);

 private:
  double kl_without(const RemovedPieces& removed) const;
  /// One round of measurements, on the way to `goal` pieces.
  void measure(int64_t goal);
  RemovedPieces first(int64_t count, int64_t goal);
  int64_t at_once() const;
  /// Those that take so many pieces out.
  int64_t measurements(int64_t count) const;

  std::shared_ptr<const HeadRemoval> removal_;
  std::shared_ptr<const LayerProbe> probe_;
  std::function<void(int64_t, int64_t, double)> progress_;
  std::shared_ptr<KeptLosses> kept_;
  std::mutex mutex_;
  RemovedPieces gone_, left_;
};

/// `count` pieces drawn by the seed.
RemovedPieces drawn(const HeadRemoval& removal, int64_t count, uint64_t seed);

}  // namespace headroom::tasks
