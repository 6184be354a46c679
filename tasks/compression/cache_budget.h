#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tasks/compression/budget.h"
#include "tasks/compression/kept_losses.h"
#include "tasks/compression/layer_probe.h"
#include "tasks/compression/methods.h"

namespace headroom::tasks {

/// The formats that a budget chooses among, from the finest on.
inline constexpr std::array cache_formats{engine::BlockFormat::f16, engine::BlockFormat::q8_0,
                                          engine::BlockFormat::q4_0};

/// One way to hold the keys, or the values, of a key-value head.
struct CacheChoice {
  int64_t rank = 0;  ///< how many of the method's directions are kept; 0: rows as they are
  engine::BlockFormat format = engine::BlockFormat::f16;
  bool operator==(const CacheChoice&) const = default;
};

/// A plan, and KL(base ‖ its model) on a probe's texts.
struct MeasuredPlan {
  CompressionPlan plan{};
  double kl = 0;
};

/// The calibration that a CacheBudget needs.
CalibrationNeeds cache_budget_needs(QkMethod qk, VoMethod vo, const models::TransformerConfig& base);
/// The fewest bytes per token in which a CacheBudget of these methods can hold a model's cache. Throws Error for a qk
/// method that does not narrow keys, or gives query heads keys of their own.
int64_t least_cache_bytes(const models::TransformerConfig& base, QkMethod qk, VoMethod vo);
/// Throws Error naming least_cache_bytes() if `bytes` are fewer.
void require_cache_bytes(int64_t bytes, const models::TransformerConfig& base, QkMethod qk, VoMethod vo);

/// Fits a model's key-value cache into a budget of bytes per token at the least loss: chooses a width and a format
/// (f16, q8_0, q4_0) for the keys and for the values of each key-value head and, if the methods can_join(), neighbours
/// that share one key and one value of up to twice the width.
///
/// Losses are KL(base ‖ model with that place alone changed) on the probe's texts. Three are measured of each place: as
/// it is in q4_0; in the method's directions, all of them, in q4_0; half of the directions in f16. Of neighbours as one
/// head there are no rows as they are, so that two are measured. Others follow:
/// fewer or more directions in proportion to the method's tail, finer formats as the square of their steps. Losses of
/// places are added up, each kind in proportion so that the sum over all places is what they cost together, which is
/// measured, too. What a plan costs is measured by measured().
class CacheBudget {
 public:
  /// Measures all heads: three runs of the model's later part for each, and one whole run for each kind; `kept`, if
  /// any, keeps them. `progress` gets the runs done, of how many, and the share of their time. A method may be none:
  /// rows then stay as they are. Throws Error as least_cache_bytes() and as the decompositions do, and where these were
  /// made without cache_budget_needs().
  CacheBudget(std::shared_ptr<const HeadDecompositions> heads, std::shared_ptr<const LayerProbe> probe,
              const std::function<void(int64_t, int64_t, double)>& progress = {}, KeptLosses* kept = nullptr);

  const HeadDecompositions& heads() const { return *heads_; }

  /// Bytes of a token: the original's in f16, the least that a plan takes, and a plan's.
  int64_t full() const { return bytes(nothing_); }
  int64_t least() const { return least_cache_bytes(heads_->base(), nothing_.qk, nothing_.vo); }
  int64_t bytes(const CompressionPlan& plan) const;

  /// The plan of at most so many bytes a token whose added losses are least, as spend_budget() finds it among those
  /// that join the neighbours whose joint hulls lie lower at the price of a byte there; `joins` false: none. Throws
  /// Error with the least possible where no plan is as small.
  CompressionPlan mixed(int64_t bytes, bool joins = true) const;
  /// The plan that loses least on the probe's texts: mixed(), mixed() without joined heads, or the finest plain format
  /// that fits.
  MeasuredPlan spend(int64_t bytes) const;
  /// The smallest plan found whose measured() loss is at most `kl`, by bisection. Throws Error unless kl > 0, and with
  /// the original's own loss in f16 where that is more.
  MeasuredPlan within(double kl) const;
  /// The smallest plan found that `is_kept`, by that bisection in `steps` steps, the first of which tries the smallest
  /// of all: where more bytes lose less. None where it takes none of those tried.
  std::optional<MeasuredPlan> smallest(const std::function<bool(const MeasuredPlan&)>& is_kept, int steps) const;
  /// All rows as they are in one format; none where its blocks do not fill them.
  std::optional<CompressionPlan> plain(engine::BlockFormat format) const;

  /// The loss that spend() expects of a plan, and what the probe measures.
  double expected_kl(const CompressionPlan& plan) const;
  MeasuredPlan measured(CompressionPlan plan) const;

 private:
  struct Place {
    HeadPlace at;
    int64_t dim = 0;
    std::array<double, 3> loss{};        ///< of each kind, see the class
    std::vector<CacheChoice> choices{};  ///< from the cheapest on, each of less loss than those before
  };

  /// What is joined, [layer][key-value head].
  using Joined = std::vector<std::vector<bool>>;

  static bool is_in(const Joined& joined, const HeadPlace& at);
  /// The neighbours whose joining lowers Σ loss + price · bytes, and what all then takes.
  std::pair<Joined, int64_t> joined_at(double price) const;
  Joined joined_within(int64_t bytes) const;
  int64_t middle_rank(const Place& place) const;
  bool has_method(const Place& place) const;
  std::optional<CacheChoice> measured_choice(const Place& place, size_t kind) const;
  double loss_of(const Place& place, const CacheChoice& choice) const;
  void put(CompressionPlan& plan, const Place& place, const CacheChoice& choice) const;
  CacheChoice chosen(const CompressionPlan& plan, const Place& place) const;
  void measure(const std::function<void(int64_t, int64_t, double)>& progress, KeptLosses* kept);
  /// Scales the losses of a kind, of keys or of values, to what all places of it cost together: of joined heads the
  /// first and second, the third and fourth, ….
  void scale(bool is_vo, bool is_joined, size_t kind, KeptLosses* kept);
  void list_choices(Place& place) const;

  std::shared_ptr<const HeadDecompositions> heads_;
  std::shared_ptr<const LayerProbe> probe_;
  CompressionPlan nothing_;  ///< all in f16
  std::vector<Place> places_;
};

}  // namespace headroom::tasks
