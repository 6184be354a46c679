#pragma once
#include <optional>

namespace headroom::experiments {

struct TrialFacts;

/// The cross-entropy in nats a token that a table reaches which sees one token and no other place, to 0.03: for the
/// next token pairs counted in the training text, for a masked one how often each token is there. A trained model that
/// does not reach it has learned nothing that attention is needed for. Of the data sets that the studies use, by a
/// trial's task; none for other texts, whose claims state `learned_at`, and for other tasks.
std::optional<double> text_floor(const TrialFacts& trial);

}  // namespace headroom::experiments
