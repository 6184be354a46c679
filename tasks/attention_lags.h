#pragma once
#include <functional>
#include <string>
#include <vector>

#include "models/transformer.h"
#include "tasks/task.h"
#include "tasks/theory/allocation.h"

namespace headroom::tasks {

constexpr int64_t most_attention_lags = 16;  ///< limit of a trial's metrics

/// Softmax's probabilities (B, H, T, T) of each group in layers [begin, end), counted from 0. Throws Error for layers
/// that do not exist.
std::vector<Tensor> attention_probabilities(const models::Transformer& model, const Batch& batch, int64_t begin,
                                            int64_t end);

/// The attention that the first `layers` layers give to each lag, in heads: for s = 0 .. last, "attention_at_lag_s"
/// sums over heads the mean probability of position t attending to t − s, over sequences and unpadded positions t >=
/// last. With H heads per layer the values sum to at most H·layers. Throws Error if the sequences are not longer than
/// `last`, if none has such a position, and for more layers than there are.
Metrics attention_by_lag(const models::Transformer& model, const Batch& batch, int64_t last, int64_t layers = 1);

/// The attention of one head: means over sequences and unpadded positions t >= last.
struct HeadLags {
  std::vector<double> share;  ///< of its attention, at lags 0 .. last
  double mean_lag = 0;        ///< Σ_s s·p(t, t − s), over all s

  /// The lag of 0 .. last with the largest share; the nearest wins a tie.
  int64_t peak() const;
  /// The mean lag, rounded: the centre of a window that falls from lag 0 on (ALiBi's).
  int64_t centre() const;
};

/// Every head of one layer, counted from 0. Throws Error as attention_by_lag().
std::vector<HeadLags> head_lags(const models::Transformer& model, const Batch& batch, int64_t last, int64_t layer = 0);

/// Counts heads measured up to `last`, for s = 0 .. last, each name after `prefix`:
///   peaks_at_lag_s    heads whose largest share is at lag s
///   centres_at_lag_s  heads whose mean lag rounds to s
///   share_at_lag_s    the largest share that one head gives to lag s
/// and "peak_share", the mean over heads of their largest share.
Metrics head_lag_metrics(const std::vector<HeadLags>& heads, const std::string& prefix = "");
/// The names of these metrics.
std::vector<std::string> head_lag_names(int64_t last, const std::string& prefix = "");

/// The share of heads that would have to serve another lag to match the plan's number of heads per lag; 0: as planned.
/// `lag_of` gives the lag a head serves.
double share_off_plan(const std::vector<HeadLags>& heads, const std::vector<LagGroup>& plan,
                      const std::function<int64_t(const HeadLags&)>& lag_of);

}  // namespace headroom::tasks
