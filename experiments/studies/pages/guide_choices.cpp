#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "experiments/output/number.h"
#include "experiments/output/text.h"
#include "experiments/studies/analysis/head_advice.h"
#include "experiments/studies/analysis/statistics.h"
#include "experiments/studies/pages/how_many_heads.h"

namespace headroom::experiments {
namespace {

using Standing = HeadChoice::Option::Standing;
using Curves = std::vector<const HeadChoice*>;

/// How often numbers of heads are shown to be worse, and what they cost on average.
struct Cost {
  std::ptrdiff_t worse = 0, curves = 0;
  std::vector<double> times;

  std::string often() const { return fmt::format("{} of {}", worse, counted(curves, "curve")); }
};

/// The cost of the first option of each curve, from few heads to many, or from many to few, that `is_asked`.
template <class IsAsked>
Cost option_cost(const Curves& curves, bool from_many, const IsAsked& is_asked) {
  Cost cost;
  for (const HeadChoice* c : curves) {
    std::vector<HeadChoice::Option> options = c->options;
    if (from_many) std::reverse(options.begin(), options.end());
    const auto found = std::find_if(options.begin(), options.end(), is_asked);
    if (found == options.end()) continue;
    ++cost.curves;
    cost.worse += found->standing == Standing::worse ? 1 : 0;
    cost.times.push_back(std::max(found->ratio, 1.0));
  }
  return cost;
}

Cost cost_of_one_head(const Curves& curves) {
  return option_cost(curves, false, [](const HeadChoice::Option& o) { return o.heads == 1; });
}

Cost cost_of_narrow(const Curves& curves) {
  return option_cost(curves, true, [](const HeadChoice::Option& o) { return o.qk_dim <= 2; });
}

std::string cost_cell(const Cost& cost) { return cost.curves == 0 ? "" : rounded(geometric_mean(cost.times)) + "×"; }

/// Links to the pages of the studies that some curves are from.
Phrase studies_of(const std::vector<Analysis>& all, const Curves& curves) {
  std::set<std::string> pages;
  for (const Analysis& f : all)
    if (std::any_of(curves.begin(), curves.end(),
                    [&](const HeadChoice* c) { return c->study == f.id && c->profile == f.profile; }))
      pages.insert(page_name(all, f));
  Phrase links;
  for (const std::string& page : pages) {
    if (!links.empty()) links.push_back({", "});
    links.push_back({.text = page, .link = fmt::format("results/{}.md", page)});
  }
  return links;
}

/// A scheme in a column headed "positions".
std::string scheme_cell(const std::string& scheme) { return scheme == "none" ? scheme : positions_in_words(scheme); }

/// A row of the picker: what to take for a task under some schemes of positions, at each width that was measured.
struct PickerRow {
  std::vector<std::string> take;
  Curves curves;
  size_t good = 0, worse = 0;

  explicit PickerRow(const std::vector<HeadAdvice>& advice) {
    for (const HeadAdvice& one : advice) {
      take.push_back(taken_text(one));
      good += one.good;
      worse += one.worse;
      curves.insert(curves.end(), one.curves.begin(), one.curves.end());
    }
  }
  std::string positions() const {
    std::vector<std::string> words;
    for (const std::string& scheme : schemes_of(curves)) words.push_back(scheme_cell(scheme));
    return fmt::format("{}", fmt::join(words, ", "));
  }
};

/// For each task that of all schemes, then those of schemes with another answer.
std::vector<PickerRow> picker_rows(const Curves& curves) {
  std::vector<PickerRow> out;
  for (const Curves& task : by_task(curves)) {
    std::vector<HeadAdvice> joint;
    for (const int64_t width : widths_of(task)) joint.push_back(head_advice(task, width));
    out.emplace_back(joint);
    for (const std::string& scheme : schemes_of(task)) {
      std::vector<HeadAdvice> own;
      for (const HeadAdvice& at_width : joint)
        if (HeadAdvice advice = head_advice(task, at_width.width, scheme); advice.heads != at_width.heads)
          own.push_back(std::move(advice));
      if (!own.empty()) out.emplace_back(own);
    }
  }
  return out;
}

/// "12 %", "3.1 times": how much more than 1.
std::string more_text(double ratio) {
  return ratio < 2 ? rounded(100 * (ratio - 1), 2) + " %" : rounded(ratio, 2) + " times the error";
}

/// What a rate off the best costs some curves, against what a number of heads off the best costs; "" without rates.
std::string rate_sentence(const std::string& of, const Curves& curves) {
  std::vector<double> rates, heads;
  for (const HeadChoice* c : curves) {
    if (std::isnan(c->rate_off)) continue;
    rates.push_back(c->rate_off);
    heads.push_back(std::max_element(c->options.begin(), c->options.end(), [](const auto& a, const auto& b) {
                      return a.ratio < b.ratio;
                    })->ratio);
  }
  if (rates.empty()) return "";
  return fmt::format(" On {} a rate up to four times off costs {}, the worst number of heads {} (medians of {}).", of,
                     more_text(median(rates)), more_text(median(heads)), counted(std::ssize(rates), "curve"));
}

/// By how many times as many steps a curve's best number of heads gains a percent, from curves that differ in their
/// steps alone; "" without such a pair.
std::string percent_in_steps(const Curves& curves) {
  std::vector<double> times;
  for (const HeadChoice* a : curves)
    for (const HeadChoice* b : curves) {
      const bool is_pair = a->steps < b->steps && !a->setting.empty() && a->setting == b->setting;
      if (!is_pair || b->best_mean >= a->best_mean) continue;
      const double per_step = std::log(a->best_mean / b->best_mean) /
                              std::log(static_cast<double>(b->steps) / static_cast<double>(a->steps));
      times.push_back(std::pow(1.01, 1 / per_step) - 1);
    }
  if (times.empty()) return "";
  return fmt::format("is what {} % more steps gain on texts (median of {} of trainings).",
                     rounded(100 * median(times), 2), counted(std::ssize(times), "pair"));
}

Block strong_item(const std::string& strong, const std::string& rest) {
  return item(Phrase{{.text = strong, .is_strong = true}, {" " + rest}});
}

}  // namespace

std::vector<Curves> by_task(const Curves& curves) {
  std::map<std::string, Curves> tasks;
  for (const HeadChoice* c : curves) tasks[c->task].push_back(c);
  std::vector<Curves> out;
  for (auto& [name, members] : tasks) out.push_back(std::move(members));
  std::stable_sort(out.begin(), out.end(), [](const Curves& a, const Curves& b) {
    return std::pair(!a[0]->is_of_text(), b.size()) < std::pair(!b[0]->is_of_text(), a.size());
  });
  return out;
}

Block choice_picker(const Curves& curves, const std::string& details) {
  std::vector<std::vector<Phrase>> rows;
  for (const PickerRow& a : picker_rows(curves)) {
    const std::string against = a.worse == 0 ? "" : fmt::format(", worse on {}", a.worse);
    rows.push_back(text_cells({a.curves[0]->task, a.positions(), fmt::format("{}", fmt::join(a.take, "; "))}));
    rows.back().push_back(
        {{.text = fmt::format("{} of {}", a.good, counted(std::ssize(a.curves), "curve")), .link = details},
         {against}});
  }
  rows.push_back(
      text_cells({"a text, more than twice as wide", "any", usual_head_dims_text(), "not measured: convention"}));
  return table("What to take", {"task", "positions", "heads × width", "shown good on"}, std::move(rows));
}

Block choice_ranges(const Curves& curves) {
  std::vector<std::vector<Phrase>> rows;
  for (const Curves& task : by_task(curves)) {
    if (!task[0]->is_of_text()) continue;
    for (const std::string& scheme : schemes_of(task))
      for (const int64_t width : widths_of(task)) {
        std::map<double, std::set<Standing>> standings;
        int count = 0;
        for (const HeadChoice* c : task) {
          if (scheme_of(*c) != scheme || c->width != width) continue;
          ++count;
          for (const HeadChoice::Option& o : c->options) standings[o.qk_dim].insert(c->tested(o));
        }
        if (count == 0) continue;
        std::vector<std::string> within, open, worse;
        for (const auto& [dim, seen] : standings)
          (seen.contains(Standing::worse)     ? worse
           : seen.contains(Standing::as_good) ? within
                                              : open)
              .push_back(exact(dim));
        const auto listed = [](const std::vector<std::string>& dims) {
          return fmt::format("{}", fmt::join(dims, ", "));
        };
        rows.push_back(text_cells({task[0]->task, scheme_cell(scheme), std::to_string(width), listed(within),
                                   listed(open), listed(worse), std::to_string(count)}));
      }
  }
  return table("Widths within 1 %",
               {"task", "positions", "D", "within 1 %", "open", "more than 1 % worse on some curve", "curves"},
               std::move(rows));
}

Blocks choice_costs(const std::vector<Analysis>& all, const Curves& curves) {
  std::vector<std::vector<Phrase>> rows;
  for (const PickerRow& a : picker_rows(curves)) {
    rows.push_back(text_cells({a.curves[0]->task, a.positions(), cost_cell(cost_of_one_head(a.curves)),
                               cost_cell(cost_of_narrow(a.curves))}));
    rows.back().push_back(studies_of(all, a.curves));
  }
  return {
      paragraph("One head and narrow heads cost their error over the best of the curve, on average."),
      table("What the answers rest on", {"task", "positions", "one head", "1 or 2 wide", "rests on"}, std::move(rows))};
}

Blocks choice_rules(const Curves& curves) {
  const auto where = [&](const auto& is_in) {
    Curves some;
    std::copy_if(curves.begin(), curves.end(), std::back_inserter(some),
                 [&](const HeadChoice* c) { return is_in(*c); });
    return some;
  };
  const auto narrow = [&](bool alibi) {
    return cost_of_narrow(
        where([&](const HeadChoice& c) { return (scheme_of(c).find("alibi") != std::string::npos) == alibi; }));
  };
  const Curves texts = where([](const HeadChoice& c) { return c.is_of_text(); });
  const Curves others = where([](const HeadChoice& c) { return !c.is_of_text(); });
  const std::string on_texts = texts.empty() ? "" : fmt::format(", on texts on {}", cost_of_one_head(texts).often());
  const Cost without = narrow(false), with = narrow(true);
  Blocks out{strong_item("One head", fmt::format("is shown to be worse than another number on {}{}.",
                                                 cost_of_one_head(curves).often(), on_texts))};
  if (without.curves > 0)
    out.push_back(strong_item("Heads 1 or 2 wide",
                              fmt::format("are shown to be worse on {} without ALiBi{}.", without.often(),
                                          with.curves > 0 ? fmt::format(", and on {} with it", with.often()) : "")));
  if (const std::string rates = rate_sentence("texts", texts) + rate_sentence("other tasks", others); !rates.empty())
    out.push_back(strong_item("Tune the learning rate first.", rates.substr(1)));
  if (const std::string steps = percent_in_steps(texts); !steps.empty())
    out.push_back(strong_item("A percent of the cross-entropy", steps));
  return out;
}

Blocks choice_searches(const Curves& curves) {
  const auto has_both = [](const HeadChoice* c) {
    return c->found && always_wide({c}, 8).curves > 0 && always_wide({c}, 16).curves > 0;
  };
  Curves common;
  std::copy_if(curves.begin(), curves.end(), std::back_inserter(common), has_both);
  if (common.empty()) return {};
  std::vector<std::vector<Phrase>> rows;
  for (const auto& [name, tally] : {std::pair("search upward", guideline_tally(common)),
                                    {"always 8 wide", always_wide(common, 8)},
                                    {"always 16 wide", always_wide(common, 16)}})
    rows.push_back(text_cells({name, std::to_string(tally.best), std::to_string(tally.good),
                               std::to_string(tally.open()), std::to_string(tally.worse), rounded(tally.times) + "×"}));
  return {paragraph(fmt::format(
              "The paper’s advice is to start with few heads and add more until validation stops improving. Heads of "
              "one width cost no search. The table compares them on the {} that have both widths.",
              counted(std::ssize(common), "curve"))),
          table("The guideline and its baselines",
                {"", "the best on validation", "shown good", "open", "shown worse", "error over the best, on average"},
                std::move(rows))};
}

Blocks choice_limits(const std::vector<HeadChoice>& choices, const Curves& curves) {
  std::set<double> widths, text_widths, layers, steps;
  for (const HeadChoice* c : curves) {
    widths.insert(static_cast<double>(c->width));
    layers.insert(static_cast<double>(c->layers));
    steps.insert(static_cast<double>(c->steps));
    if (c->is_of_text()) text_widths.insert(static_cast<double>(c->width));
  }
  std::vector<std::string> omitted;
  const auto omit = [&](const auto& is_out, const char* why) {
    if (const auto n = std::count_if(choices.begin(), choices.end(), is_out))
      omitted.push_back(counted(n, "curve") + why);
  };
  omit([](const HeadChoice& c) { return !c.is_learned; }, " on which no number of heads learned the task");
  omit([](const HeadChoice& c) { return c.is_learned && !c.is_tuned; }, " for which only one learning rate was tried");
  Blocks limits{
      item(fmt::format("Larger models, D {} and more. Measured: {} of width D {}, with {} {}, after {} steps{}.",
                       2 * *widths.rbegin(), counted(std::ssize(curves), "curve"), range_text(widths),
                       range_text(layers), layers == std::set<double>{1} ? "layer" : "layers", range_text(steps),
                       text_widths.empty() ? "" : "; texts of D " + range_text(text_widths))),
      item("Longer training and finer learning rates: ratios change with both, and their order may too."),
      item("Other constants: RoPE’s base and ALiBi’s slopes had one value in each study; re-runs with others, which "
           "are not published, brought the widths closer together."),
      item("Grouped queries, and heads of unequal width: all heads here are D/H wide and have keys of their own.")};
  if (!omitted.empty()) limits.push_back(item(fmt::format("Left out: {}.", fmt::join(omitted, ", "))));
  return limits;
}

std::string taken_text(const HeadAdvice& advice) {
  return fmt::format("D {}: {} × {}", advice.width, advice.heads, advice.head_dim);
}

}  // namespace headroom::experiments
