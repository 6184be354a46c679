#include "experiments/studies/claims/exclusions.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/excerpt.h"
#include "experiments/output/number.h"
#include "experiments/studies/toml/reader.h"

namespace headroom::experiments {
namespace {

struct Effects {
  std::optional<double> least, most;
};

Effects effects(const ClaimConfig& claim) {
  return std::visit([](const auto& kind) { return Effects{kind.least_effect(), kind.most_effect()}; }, claim.kind);
}

}  // namespace

void check_exclusions(Reader& in, const ClaimConfig& claim, const std::vector<ClaimConfig>& above) {
  const auto find = [&](const std::string& id) {
    return std::find_if(above.begin(), above.end(), [&](const ClaimConfig& other) { return other.id == id; });
  };
  if (!claim.id.empty() && find(claim.id) != above.end())
    in.complain("id", fmt::format("another claim is called \"{}\"", excerpt(claim.id)));
  for (const std::string& id : claim.excludes) {
    const auto other = id.empty() ? above.end() : find(id);
    if (other == above.end()) {
      in.complain("excludes", fmt::format("no claim above has the id \"{}\"", excerpt(id)));
      continue;
    }
    const Effects own = effects(claim), rival = effects(*other);
    const std::optional<double> least = own.least ? own.least : rival.least;
    const std::optional<double> most = own.least ? rival.most : own.most;
    if (least && most && *least < *most)
      in.complain("excludes", fmt::format("an effect of {} at least and one of {} at most can both be true: \"{}\" is "
                                          "excluded where the first is no smaller than the second",
                                          exact(*least), exact(*most), excerpt(id)));
  }
}

}  // namespace headroom::experiments
