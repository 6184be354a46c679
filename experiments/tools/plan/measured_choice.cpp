#include "experiments/tools/plan/measured_choice.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "experiments/studies/analysis/analysis.h"

namespace headroom::experiments {

extern const char* const kHeadChoices;

namespace {

using Json = nlohmann::ordered_json;
using Standing = HeadChoice::Option::Standing;

/// In the order of Standing.
constexpr std::array<std::string_view, 4> standing_names{"best", "as good", "worse", "open"};

/// A short word for a kind of task, or for those of its curves with a task in those words.
struct ShortWord {
  const char *word, *kind, *task = "";
  bool fits(const HeadChoice& one) const { return one.kind == kind && (*task == 0 || one.task == task); }
};
constexpr ShortWord short_words[] = {{"mlm", "masked"},
                                     {"ntp", "next-token"},
                                     {"n-gram", "linear-functional", "equal sums of the last tokens"},
                                     {"kernel", "linear-functional", "weighted sums of earlier tokens"},
                                     {"induction", "induction-head"},
                                     {"copying", "induction-head"},
                                     {"copy", "induction-head"}};

/// The members that JSON has under their own names, for reading and for writing.
template <class Choice, class F>
void each_member(Choice& choice, const F& f) {
  f("task", choice.kind), f("metric", choice.metric);
  f("study", choice.study), f("profile", choice.profile), f("series", choice.series), f("positions", choice.positions);
  f("width", choice.width), f("steps", choice.steps), f("margin", choice.margin), f("seeds", choice.seeds);
  f("words", choice.task), f("token_dim", choice.token_dim), f("decay", choice.decay);
}

/// JSON knows no NaN.
Json interval_end(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }
double interval_end_of(const Json& value) { return value.is_null() ? NAN : value.get<double>(); }

Standing standing_of(const Json& json) {
  const auto word = json.get<std::string>();
  const auto known = std::find(standing_names.begin(), standing_names.end(), word);
  require(known != standing_names.end(), "head choices: there is no standing \"{}\"", excerpt(word));
  return static_cast<Standing>(known - standing_names.begin());
}
std::string_view name_of(Standing standing) { return standing_names[static_cast<size_t>(standing)]; }

HeadChoice::Option option_from(const Json& json) {
  return {json.at("heads"),
          json.at("qk_dim"),
          json.at("v_dim"),
          json.at("ratio"),
          interval_end_of(json.at("low")),
          interval_end_of(json.at("high")),
          standing_of(json.at("standing")),
          json.at("unlearned")};
}

HeadChoice choice_from(const Json& json) {
  HeadChoice out;
  each_member(out, [&](const char* name, auto& member) { json.at(name).get_to(member); });
  out.best_standing = standing_of(json.at("best_standing"));
  std::vector<HeadChoice::Option>& options = out.options;
  for (const Json& option : json.at("options")) options.push_back(option_from(option));
  const auto best = std::count_if(options.begin(), options.end(),
                                  [](const HeadChoice::Option& option) { return option.standing == Standing::best; });
  require(best == 1, "head choices: {}: expected one best number of heads, got {}", excerpt(out.study), best);
  return out;
}

Json json_of(const HeadChoice& measured) {
  Json out;
  each_member(measured, [&](const char* name, const auto& member) { out[name] = member; });
  out["best_standing"] = name_of(measured.best_standing);
  out["options"] = Json::array();
  for (const HeadChoice::Option& option : measured.options)
    out["options"].push_back({{"heads", option.heads},
                              {"qk_dim", option.qk_dim},
                              {"v_dim", option.v_dim},
                              {"ratio", option.ratio},
                              {"low", interval_end(option.low)},
                              {"high", interval_end(option.high)},
                              {"standing", name_of(option.standing)},
                              {"unlearned", option.unlearned}});
  return out;
}

}  // namespace

std::vector<HeadChoice> measured_choices(const Analysis& study) {
  std::vector<HeadChoice> out = study.head_choices();
  std::erase_if(out, [](const HeadChoice& choice) { return !choice.is_learned || !choice.is_tuned; });
  return out;
}

std::vector<HeadChoice> distinct_choices(const std::vector<Analysis>& studies) {
  std::vector<HeadChoice> all, kept;
  for (const Analysis& study : studies)
    for (HeadChoice& choice : measured_choices(study)) all.push_back(std::move(choice));
  for (const HeadChoice* one : distinct_learned(all)) kept.push_back(*one);
  return kept;
}

std::string choices_json(const std::vector<HeadChoice>& choices) {
  std::vector<std::string> lines;
  for (const HeadChoice& measured : choices)
    lines.push_back(json_of(measured).dump(-1, ' ', false, Json::error_handler_t::replace));
  return fmt::format("[{}]\n", fmt::join(lines, ",\n"));
}

std::vector<HeadChoice> parse_choices(const std::string& json) {
  std::vector<HeadChoice> out;
  try {
    for (const Json& one : Json::parse(json)) out.push_back(choice_from(one));
  } catch (const Json::exception& error) {
    fail("head choices: {}", plain_words(error.what()));
  }
  return out;
}

const std::vector<HeadChoice>& shipped_choices() {
  static const std::vector<HeadChoice> choices = parse_choices(kHeadChoices);
  return choices;
}

std::vector<std::string> task_words() {
  std::set<std::string> words, unnamed;
  for (const HeadChoice& one : shipped_choices()) {
    bool has_word = false;
    for (const ShortWord& known : short_words)
      if (known.fits(one)) {
        words.insert(known.word);
        has_word = true;
      }
    if (!has_word) unnamed.insert(one.kind);
  }
  std::vector<std::string> out;
  for (const ShortWord& known : short_words)
    if (words.contains(known.word)) out.emplace_back(known.word);
  out.insert(out.end(), unnamed.begin(), unnamed.end());
  return out;
}

std::vector<HeadChoice> choices_for(const std::string& task, const std::vector<HeadChoice>& all) {
  std::vector<HeadChoice> out;
  for (const HeadChoice& one : all) {
    const bool is_named = std::any_of(std::begin(short_words), std::end(short_words),
                                      [&](const ShortWord& known) { return known.word == task && known.fits(one); });
    if (is_named || one.kind == task) out.push_back(one);
  }
  require(!out.empty(), "--for: nothing was measured for '{}'; there are {}", excerpt(task),
          fmt::format("{}", fmt::join(task_words(), ", ")));
  return out;
}

std::vector<const HeadChoice*> curves_of(const std::vector<HeadChoice>& measured) {
  std::vector<const HeadChoice*> curves;
  for (const HeadChoice& one : measured) curves.push_back(&one);
  return curves;
}

std::vector<const HeadChoice*> curves_of_sum(int64_t width, int64_t token_dim, const std::vector<double>& norms) {
  const auto at = [](const std::vector<double>& decay, size_t i) { return i < decay.size() ? decay[i] : 0; };
  std::vector<const HeadChoice*> curves;
  for (const HeadChoice& one : shipped_choices()) {
    const HeadChoice& c = one;
    bool is_same = !c.decay.empty() && c.width == width && c.token_dim == static_cast<double>(token_dim);
    for (size_t i = 0; is_same && i < c.decay.size(); ++i)
      is_same = std::abs(at(norms, i) - c.decay[i]) <= 1e-6 * std::max(1.0, c.decay[i]);
    if (is_same) curves.push_back(&c);
  }
  return curves;
}

}  // namespace headroom::experiments
