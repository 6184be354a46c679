#include "experiments/studies/claims/why.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "engine/excerpt.h"
#include "engine/read_number.h"
#include "experiments/output/number.h"
#include "experiments/studies/claims/claim_scope.h"
#include "experiments/studies/toml/reader.h"

namespace headroom::experiments {
namespace {

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

WhyPlace parse(const std::string& text) {
  WhyPlace place;
  std::string rest = trimmed(text);
  if (rest.ends_with('%')) {
    place.is_percent = true;
    rest = trimmed(rest.substr(0, rest.size() - 1));
  }
  if (const size_t of = rest.find(" of "); of != std::string::npos) {
    place.series = trimmed(rest.substr(of + 4));
    rest = trimmed(rest.substr(0, of));
    place.is_wrong = place.series.empty() || rest.find('@') == std::string::npos;
  }
  if (const size_t at = rest.find('@'); at != std::string::npos) {
    const std::string number = trimmed(rest.substr(at + 1));
    rest = trimmed(rest.substr(0, at));
    const auto x = read_number<double>(number);
    place.is_wrong = place.is_wrong || !x;
    place.x = x.value_or(0);
  }
  place.name = rest;
  place.is_wrong = place.is_wrong || rest.empty();
  return place;
}

/// `text` with every place replaced by what f makes of it.
std::string replaced(const std::string& text, const std::function<std::string(const std::string&)>& f) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_measurement = i > 0 && (text[i - 1] == '^' || text[i - 1] == '_');
    const size_t end = text[i] == '{' ? text.find('}', i) : std::string::npos;
    if (end == std::string::npos) {
      out += text[i];
      continue;
    }
    out += is_measurement ? text.substr(i, end - i + 1) : f(text.substr(i + 1, end - i - 1));
    i = end;
  }
  return out;
}

std::string for_people(double value) {
  const bool is_whole = value == std::round(value) && std::abs(value) < 1e6;
  return is_whole ? exact(value) : rounded(value);
}

/// Why no measurement could fill a place; "" where one could.
std::string problem(const WhyPlace& place, const ClaimConfig& claim, const ClaimScope& scope) {
  if (place.is_wrong) return "expected {number}, {metric @ x} or {metric @ x of series}";
  if (!place.x) {
    const std::vector<std::string>& known = claim.kind->numbers;
    if (std::find(known.begin(), known.end(), place.name) != known.end()) return "";
    return fmt::format("{} has no such number; it has {}", claim.kind->name, fmt::join(known, ", "));
  }
  if (!scope.is_known()) return "";
  if (!place.series.empty() && !scope.has_series(place.series))
    return fmt::format("there is no series \"{}\"", excerpt(place.series));
  const SeriesScope& series = scope.of(place.series);
  if (!series.metrics.contains(place.name)) return fmt::format("no trial has a metric \"{}\"", excerpt(place.name));
  if (!series.x.contains(*place.x))
    return fmt::format("{} = {} is no point of the sweep", scope.x_name(), exact(*place.x));
  return "";
}

}  // namespace

void check_why(Reader& in, const ClaimConfig& claim, const ClaimScope& scope) {
  replaced(claim.why, [&](const std::string& text) {
    if (const std::string reason = problem(parse(text), claim, scope); !reason.empty())
      in.complain("why", fmt::format("{{{}}}: {}", excerpt(text), reason));
    return "";
  });
}

std::string filled_in(const std::string& why, const std::function<double(const WhyPlace&)>& number_at) {
  return replaced(why, [&](const std::string& text) {
    const WhyPlace place = parse(text);
    const double value = place.is_wrong ? NAN : number_at(place);
    return for_people(place.is_percent ? 100 * value : value);
  });
}

}  // namespace headroom::experiments
