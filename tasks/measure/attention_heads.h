#pragma once
#include <set>
#include <string>
#include <vector>

#include "tasks/measure/head_summary.h"
#include "tasks/measure/studied_model.h"

namespace headroom::tasks {

/// The query of a text to look at.
enum class StudiedQuery {
  last,
  middle,    ///< at L/2, counted from 0
  numbered,  ///< `query`, counted from 1
};

/// Measures every head of a trained model at one query of spans of a text.
struct AttentionHeadsConfig {
  using Made = class AttentionHeads;
  StudiedModelConfig model{};
  StudiedTextConfig text{};
  int64_t length = 512;  ///< L
  StudiedQuery at = StudiedQuery::last;
  int64_t query = 1;            ///< l of `numbered`
  int64_t spans = 1;            ///< averaged, starting at seed · spans: with 1, each seed is a span
  int64_t layer = 0, head = 0;  ///< the head reported by itself
  /// A measure whose trend is also reported, over lengths (queries if numbered) from `from` in powers of two up to the
  /// config's own, at least twice `from`; "" = none.
  std::string trend{};
  int64_t from = 4;
  double band_low = 0.9, band_high = 1.7;
};

/// Throws Error naming the field and what is allowed.
void validate(const AttentionHeadsConfig& config);

/// Metrics: every head_measures() as in add_summary(), averaged over spans first; `violations`, over heads and spans,
/// of Theorem 2's inequalities with Δ = max |z| (broken_inequalities()); `sink_heads` and `strong_sink_heads`, heads
/// with more than 0.5 and 0.9 of their attention on the first token; the median scaled norm of sink_heads and of the
/// others, `sink_scaled_norm` and `other_scaled_norm`, if there are any; with a trend, add_trend()'s.
class AttentionHeads : public ModelMeasurement<AttentionHeadsConfig> {
 public:
  using ModelMeasurement::ModelMeasurement;
  void check() const override;
  Metrics compute(uint64_t seed) const override;
  std::string describe() const override;

 private:
  /// One probe per span, at `length` and the query.
  std::vector<AttentionProbe> probes(uint64_t seed, int64_t length, int64_t position) const;
  void add_own_trend(Metrics& metrics, uint64_t seed) const;
};

/// All metric names an AttentionHeads may give.
std::vector<std::string> attention_metrics();
/// The metric names of one config.
std::set<std::string> metric_names_of(const AttentionHeadsConfig& config);

}  // namespace headroom::tasks
