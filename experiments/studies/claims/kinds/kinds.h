#pragma once
#include <variant>

#include "experiments/studies/claims/kinds/argmin_in.h"
#include "experiments/studies/claims/kinds/band.h"
#include "experiments/studies/claims/kinds/bound_holds.h"
#include "experiments/studies/claims/kinds/curved.h"
#include "experiments/studies/claims/kinds/flat.h"
#include "experiments/studies/claims/kinds/gap.h"
#include "experiments/studies/claims/kinds/interior_optimum.h"
#include "experiments/studies/claims/kinds/less_than.h"
#include "experiments/studies/claims/kinds/monotone.h"
#include "experiments/studies/claims/kinds/no_interior_optimum.h"
#include "experiments/studies/claims/kinds/saturates.h"
#include "experiments/studies/claims/kinds/slope.h"
#include "experiments/studies/claims/kinds/within_factor.h"
#include "experiments/studies/claims/kinds/within_percent.h"
#include "experiments/studies/claims/kinds/worse_than_best.h"

namespace headroom::experiments {

/// The kinds of claim. A new one is its files in this folder and its place here.
using ClaimKind = std::variant<InteriorOptimum, ArgminIn, WithinFactor, WorseThanBest, Monotone, Slope, Saturates, Band,
                               LessThan, BoundHolds, WithinPercent, Flat, NoInteriorOptimum, Curved, Gap>;

/// Calls f with each kind in turn, its keys at their defaults.
template <class F>
void for_each_kind(F f) {
  [&]<class... Kinds>(const std::variant<Kinds...>*) { (f(Kinds{}), ...); }(static_cast<const ClaimKind*>(nullptr));
}

}  // namespace headroom::experiments
