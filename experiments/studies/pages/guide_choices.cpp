#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "experiments/output/number.h"
#include "experiments/studies/pages/guide_parts.h"
#include "experiments/studies/pages/usual_head_dim.h"

namespace headroom::experiments {
namespace {

using Standing = HeadChoice::Option::Standing;

using Curves = std::vector<const HeadChoice*>;

/// The curves that a choice can rest on, by the kind of task and the scheme of positions.
std::map<std::string, Curves> groups_of(const Curves& curves) {
  std::map<std::string, Curves> groups;
  for (const HeadChoice* c : curves) {
    std::string positions = positions_in_words(c->positions);
    const size_t scheme = std::min(positions.find(' '), positions.size());
    positions.insert(scheme, " positions");  // "ALiBi positions without scores"
    groups[fmt::format("{}{}{}", c->task, c->task.empty() ? "" : ", ", positions)].push_back(c);
  }
  return groups;
}

/// "32", "32 to 256"; what was measured is rounded.
std::string range_text(const std::set<double>& values, bool is_measured = false) {
  const auto text = [&](double value) { return is_measured ? rounded(value) : exact(value); };
  if (values.size() == 1) return text(*values.begin());
  return fmt::format("{} to {}", text(*values.begin()), text(*values.rbegin()));
}

/// How one option of each curve does: "worse on 5 of 6 curves (1.8 to 286 times the error of the best), open on 1".
std::string standing_text(const std::vector<const HeadChoice::Option*>& options) {
  std::map<Standing, size_t> counts;
  std::set<double> ratios;
  for (const HeadChoice::Option* o : options) {
    ++counts[o->standing];
    if (o->standing == Standing::worse) ratios.insert(o->ratio);
  }
  std::vector<std::string> parts;
  const auto add = [&](Standing standing, const char* word) {
    if (counts[standing] == 0) return;
    std::string part = fmt::format("{} on {}", word, counts[standing]);
    if (parts.empty()) part += " of " + counted(std::ssize(options), "curve");
    if (standing == Standing::worse) part += fmt::format(" ({} times the best)", range_text(ratios, true));
    parts.push_back(part);
  };
  add(Standing::worse, "worse");
  add(Standing::best, "the best");
  add(Standing::as_good, "as good");
  add(Standing::open, "open");
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// "8 heads on 5 curves, 4 on 2", the most frequent first; "8 heads" of a single curve.
std::string best_text(const Curves& curves) {
  std::vector<std::string> parts;
  for (const auto& [heads, count] : counts_of_best(curves)) {
    const bool is_first = parts.empty();
    std::string& part = parts.emplace_back(exact(heads));
    if (is_first) part += heads == 1 ? " head" : " heads";
    if (curves.size() > 1)
      part += " on " + (is_first ? counted(static_cast<int64_t>(count), "curve") : std::to_string(count));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// How many curves find several heads of one width good, leave it open, or find it worse.
struct Count {
  int good = 0, open = 0, worse = 0;
  int all() const { return good + open + worse; }
  void add(Standing standing) { ++(standing == Standing::worse ? worse : standing == Standing::open ? open : good); }
};

std::map<double, Count> counts_by_width(const Curves& curves) {
  std::map<double, Count> counts;
  for (const HeadChoice* c : curves)
    for (const HeadChoice::Option& o : c->options)
      if (o.heads > 1) counts[o.qk_dim].add(o.standing == Standing::best ? c->best_standing : o.standing);
  return counts;
}

/// How wrong a width is: on which share of its curves it is worse, and then how rarely it is shown to be good.
std::pair<double, double> rank(const Count& count) {
  const double tried = count.all();
  return {count.worse / tried, -count.good / tried};
}

/// "8: good on 7, open on 7, worse on 5": of the widths that at least half of the curves tried, the one that is worse
/// on the smallest share of them; of several, the one that is shown to be good on most, and those that are like it.
std::string safest_text(const Curves& curves) {
  std::map<double, Count> counts = counts_by_width(curves);
  std::erase_if(counts, [&](const auto& entry) { return 2 * entry.second.all() < std::ssize(curves); });
  if (counts.empty()) return "";
  const Count& count = std::min_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
                         return rank(a.second) < rank(b.second);
                       })->second;
  std::vector<std::string> parts;
  if (count.good > 0) parts.push_back(fmt::format("good on {}", count.good));
  if (count.open > 0) parts.push_back(fmt::format("open on {}", count.open));
  if (count.worse > 0) parts.push_back(fmt::format("worse on {}", count.worse));
  std::vector<std::string> widths;
  for (const auto& [like, its] : counts)
    if (rank(its) == rank(count) && its.all() == count.all()) widths.push_back(exact(like));
  return fmt::format("{}: {}", fmt::join(widths, ", "), fmt::join(parts, ", "));
}

/// "4 (16 wide), 8 (8 wide)"; two widths where queries and values differ.
std::string options_text(const HeadChoice& choice, Standing standing) {
  std::vector<std::string> parts;
  for (const HeadChoice::Option& o : choice.options) {
    if (o.standing != standing) continue;
    parts.push_back(o.qk_dim == o.v_dim
                        ? fmt::format("{} ({} wide)", exact(o.heads), exact(o.qk_dim))
                        : fmt::format("{} ({}, values {} wide)", exact(o.heads), exact(o.qk_dim), exact(o.v_dim)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// The counts of every group, a column per width.
Block width_table(const std::map<std::string, Curves>& groups) {
  std::set<double> widths;
  for (const auto& [name, curves] : groups)
    for (const auto& [width, count] : counts_by_width(curves)) widths.insert(width);
  std::vector<std::string> head{"several heads of width"};
  for (const double width : widths) head.push_back(exact(width));
  std::vector<std::vector<Phrase>> rows;
  for (const auto& [name, curves] : groups) {
    std::vector<Phrase>& row = rows.emplace_back(text_cells({name}));
    std::map<double, Count> counts = counts_by_width(curves);
    for (const double width : widths) {
      const Count& count = counts[width];
      row.push_back({{count.all() == 0 ? "" : fmt::format("{} / {} / {}", count.good, count.open, count.worse)}});
    }
  }
  return table("Widths of heads by task and positions", head, std::move(rows));
}

std::string curve_name(const HeadChoice& c) { return c.study + (c.series.empty() ? "" : " · " + c.series); }

}  // namespace

Blocks choice_advice(const std::vector<HeadChoice>& choices) {
  const Curves curves = distinct_learned(choices);
  if (curves.empty()) return {};
  const auto advice = [](const char* when, const std::string& what) {
    return item(Phrase{{.text = when, .is_strong = true}, {" " + what}});
  };
  Blocks out;
  const GuidelineTally tally = guideline_tally(choices);
  std::set<double> widths, layers, steps;
  for (const HeadChoice* c : curves) {
    widths.insert(static_cast<double>(c->width));
    layers.insert(static_cast<double>(c->layers));
    steps.insert(static_cast<double>(c->steps));
  }
  if (tally.curves > 0)
    out.push_back(advice(
        "If you can search:",
        fmt::format(
            "train with few heads, then with more, each number at its own best learning rate, and stop when "
            "validation no longer improves. On {}, averaged over seeds, the number that this ends at is shown to be "
            "within the margin of every other on {}, worse than another on {}, and neither on {}.",
            counted(tally.curves, "curve"), tally.good, tally.worse, tally.open())));
  out.push_back(advice(
      "If you cannot:",
      fmt::format(
          "up to a model width of {}, take what the table says for your task and positions. For wider models "
          "nothing was measured: start with heads of the usual width, {}, which is a convention. headroom plan --for "
          "TASK --width D answers by the same rule.",
          exact(*widths.rbegin()), usual_head_dims_text())));
  out.push_back(advice(
      "What this does not cover:",
      fmt::format(
          "all of it was measured on {}, on small models of width D {} with {} {}, trained for {} steps, all heads "
          "D/H wide. For a wider, deeper or longer trained model it is a hypothesis to test. A setting that several "
          "studies share counts once.",
          counted(std::ssize(curves), "curve"), range_text(widths), range_text(layers),
          layers == std::set<double>{1} ? "layer" : "layers", range_text(steps))));
  return out;
}

Blocks choice_sentences(const std::vector<HeadChoice>& choices) {
  Blocks out;
  const Curves curves = distinct_learned(choices);
  if (curves.empty()) return out;
  std::vector<std::vector<Phrase>> rows;
  for (const auto& [name, members] : groups_of(curves)) {
    std::vector<const HeadChoice::Option*> one, narrowest;
    std::set<double> sizes, narrow, tokens, left;
    for (const HeadChoice* c : members) {
      if (c->token_dim > 0) tokens.insert(c->token_dim);
      sizes.insert(static_cast<double>(c->width));
      left.insert(c->best_value);
      for (const HeadChoice::Option& o : c->options)
        if (o.heads == 1) one.push_back(&o);
      const auto& last = *std::min_element(c->options.begin(), c->options.end(),
                                           [](const auto& a, const auto& b) { return a.qk_dim < b.qk_dim; });
      narrowest.push_back(&last);
      narrow.insert(last.qk_dim);
    }
    rows.push_back(
        text_cells({name,
                    fmt::format("{}, D {}{}", counted(std::ssize(members), "curve"), range_text(sizes),
                                tokens.empty() ? "" : ", tokens " + range_text(tokens) + " wide"),
                    best_text(members), safest_text(members), one.empty() ? "" : standing_text(one),
                    fmt::format("{} wide: {}", range_text(narrow), standing_text(narrowest)), range_text(left, true)}));
  }
  out.push_back(
      table("What to choose",
            {"task, positions", "measured", "best on validation", "width that suits most curves (2 heads or more)",
             "one head", "the narrowest heads", "error that the best leaves"},
            std::move(rows)));
  out.push_back(paragraph(
      "Worse: shown, at the 5 % level, to be more than 10 % worse (1 % of a cross-entropy or an accuracy) than another "
      "number; as good, good: shown to be less than that worse than every other; open: neither. Compare rows by the "
      "last column first: a flat curve may be flat since nothing was learned well. Errors of sums, products, copying "
      "and induction are shares of the target’s variance; of texts, cross-entropies in nats. D is the model’s width, H "
      "the number of heads; a token of a synthetic task is a vector of so many numbers."));
  const auto leave_out = [&](const std::string& why, const auto& words_of) {
    std::vector<std::string> curves_left_out;
    for (const HeadChoice& c : choices)
      if (const std::string words = words_of(c); !words.empty())
        curves_left_out.push_back(fmt::format("{} ({})", curve_name(c), words));
    if (!curves_left_out.empty())
      out.push_back(paragraph(fmt::format("Left out, since {}: {}.", why, fmt::join(curves_left_out, ", "))));
  };
  leave_out("even the best number of heads leaves more than half of the target’s variance (in brackets: how much)",
            [](const HeadChoice& c) { return c.is_learned ? "" : rounded(c.best_value); });
  leave_out("every number of heads was trained at the same learning rate, and the best rate may differ between them",
            [](const HeadChoice& c) { return c.is_learned && !c.is_tuned ? c.profile : ""; });
  return out;
}

Blocks choice_tables(const std::vector<HeadChoice>& choices) {
  Blocks out;
  if (const auto groups = groups_of(distinct_learned(choices)); !groups.empty()) {
    out.push_back(paragraph("Curves that find several heads of a width as good as their best / open / worse:"));
    out.push_back(width_table(groups));
  }
  std::vector<std::vector<Phrase>> rows;
  for (const HeadChoice& c : choices)
    rows.push_back(text_cells(
        {c.title + (c.series.empty() ? "" : " · " + c.series),
         fmt::format("D {}, {}, {} steps, {} seeds", c.width, positions_in_words(c.positions), c.steps, c.seeds),
         rounded(c.best_value), options_text(c, Standing::best), options_text(c, Standing::as_good),
         options_text(c, Standing::open), options_text(c, Standing::worse),
         fmt::format("{:.0f} %", 100 * (c.margin - 1))}));
  out.push_back(table("Numbers of heads by task",
                      {"task", "setting", "best error", "best on validation", "as good", "open", "worse", "by"},
                      std::move(rows)));
  out.push_back(paragraph(
      "A number of heads is as good where it is shown to be less than the margin (“by”) worse than every other, worse "
      "where it is shown to be more than that worse than some other, else open: 5 % each, paired over seeds, on "
      "logarithms, corrected for the number of options of a curve, but not for the number of curves, nor for seeds "
      "that were added until a study's claims were decided. The studies' own verdicts allow for both, and may leave "
      "open what is “worse” here. Rates were chosen for each number of heads on validation, where a study sweeps "
      "them."));
  return out;
}

}  // namespace headroom::experiments
