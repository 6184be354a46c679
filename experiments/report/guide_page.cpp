#include "experiments/report/guide_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "experiments/claims/curve.h"
#include "experiments/claims/number.h"
#include "experiments/report/figure.h"
#include "experiments/report/file.h"
#include "experiments/report/gnuplot.h"
#include "experiments/report/headline.h"
#include "experiments/report/markdown.h"
#include "experiments/report/svg.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;
using Standing = HeadChoice::Option::Standing;

bool has_equal_widths(const HeadChoice& choice) {
  return std::all_of(choice.options.begin(), choice.options.end(), [&](const HeadChoice::Option& o) {
    return o.qk_dim == o.v_dim && o.qk_dim * o.heads == static_cast<double>(choice.width);
  });
}

/// "quick, a pilot: 3 seeds".
std::string strength(const StudyResults& r) {
  std::set<int64_t> seeds;
  for (const TrialRecord& t : r.trials) seeds.insert(t.seed);
  return fmt::format("{}{}, {} {}", markdown_code(r.profile), r.profile == "paper" ? "" : " (pilot)", seeds.size(),
                     seeds.size() == 1 ? "seed" : "seeds");
}

/// What weakens a verdict most, in a cell.
std::string caveat(const Verdict& v) {
  if (v.status == VerdictStatus::not_run) return markdown(v.sentence);
  std::vector<std::string> parts;
  if (v.status == VerdictStatus::undecided)
    parts.push_back(v.seeds_needed ? fmt::format("about {} seeds would decide", *v.seeds_needed)
                                   : "no number of seeds up to 1,000 would decide");
  if (!v.notes.empty()) parts.push_back(markdown(v.notes.front()));
  if (v.notes.size() > 1) parts.push_back(fmt::format("and {} more", v.notes.size() - 1));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string paper_table(const std::vector<Finding>& all) {
  std::vector<std::vector<std::string>> rows;
  for (const Finding& f : all) {
    for (const Verdict& v : f.verdicts) {
      if (is_ours(v.claim)) continue;
      rows.push_back({markdown(f.results.paper),
                      markdown(v.claim.paper) + (v.claim.series.empty() ? "" : " · " + markdown(v.claim.series)),
                      markdown(v.summary), fmt::format("**{}**", name(v.status)),
                      fmt::format("[{}](results/{}.md), {}", f.results.id, page_name(all, f), strength(f.results)),
                      caveat(v)});
    }
  }
  return markdown_table({"where", "the paper says", "measured", "verdict", "rests on", "caveat"}, rows);
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

std::string choice_table(const std::vector<HeadChoice>& choices) {
  std::vector<std::vector<std::string>> rows;
  for (const HeadChoice& c : choices)
    rows.push_back({markdown(c.title) + (c.series.empty() ? "" : " · " + markdown(c.series)),
                    fmt::format("{}", c.width), markdown(c.positions), fmt::format("{}", c.steps),
                    fmt::format("{}", c.seeds), options_text(c, Standing::best), options_text(c, Standing::as_good),
                    options_text(c, Standing::open), options_text(c, Standing::worse),
                    fmt::format("{:.0f} %", 100 * (c.margin - 1))});
  return markdown_table(
      {"task", "D", "positions", "steps", "seeds", "best on validation", "as good", "open", "worse", "by"}, rows);
}

/// How many curves of each kind of positions find heads of a width good, worse, or leave it open.
std::string width_table(const std::vector<HeadChoice>& choices) {
  std::map<std::string, std::map<double, std::map<Standing, int>>> counts;
  std::set<double> widths;
  for (const HeadChoice& c : choices) {
    if (!has_equal_widths(c)) continue;
    for (const HeadChoice::Option& o : c.options) {
      ++counts[c.positions][o.qk_dim][o.standing == Standing::best ? Standing::as_good : o.standing];
      widths.insert(o.qk_dim);
    }
  }
  if (counts.empty()) return "";
  std::vector<std::string> head{"positions \\ width of a head"};
  for (const double width : widths) head.push_back(exact(width));
  std::vector<std::vector<std::string>> rows;
  for (const auto& [positions, by_width] : counts) {
    rows.push_back({markdown(positions)});
    for (const double width : widths) {
      const auto found = by_width.find(width);
      if (found == by_width.end()) {
        rows.back().push_back("");
        continue;
      }
      const auto count = [&](Standing s) { return found->second.contains(s) ? found->second.at(s) : 0; };
      rows.back().push_back(
          fmt::format("{} / {} / {}", count(Standing::as_good), count(Standing::open), count(Standing::worse)));
    }
  }
  return "Curves that find heads of a width as good as their best / open / worse, by positions, where every head has "
         "D/H "
         "dimensions:\n\n" +
         markdown_table(head, rows);
}

std::string counted_verdicts(const std::vector<Finding>& all) {
  std::vector<Verdict> verdicts;
  for (const Finding& f : all) verdicts.insert(verdicts.end(), f.verdicts.begin(), f.verdicts.end());
  return tally(verdicts, false);
}

}  // namespace

std::vector<HeadChoice> head_choices(const std::vector<Finding>& all) {
  std::vector<HeadChoice> choices;
  for (const Finding& f : all)
    for (const std::string& series : series_names(f.results))
      if (auto choice = head_choice(f.results, series)) choices.push_back(std::move(*choice));
  return choices;
}

std::optional<Figure> guide_figure(const std::vector<HeadChoice>& choices) {
  Figure figure;
  Plot& plot = figure.plot;
  plot.id = "how-many-heads";
  plot.title = "Error over the best of its curve against the width of a head";
  plot.x_label = "width of a head, D/H";
  plot.y_label = "error / best";
  std::vector<double> xs, ys;
  std::map<std::string, size_t> colours;  // positions → category
  for (const HeadChoice& c : choices) {
    if (!has_equal_widths(c)) continue;
    const bool is_new = colours.emplace(c.positions, colours.size()).second;
    Layer layer;
    layer.legend = is_new ? c.positions : "";
    layer.colour = svg::category(colours.at(c.positions));
    for (auto o = c.options.rbegin(); o != c.options.rend(); ++o) {
      const bool has_band = std::isfinite(o->low) && std::isfinite(o->high);
      layer.marks.push_back(
          {o->qk_dim, o->ratio, has_band ? o->low : o->ratio, has_band ? o->high : o->ratio,
           fmt::format("{}{}: {} heads of width {}: {} times the best", c.title,
                       c.series.empty() ? "" : ", " + c.series, exact(o->heads), exact(o->qk_dim), rounded(o->ratio))});
      xs.push_back(o->qk_dim);
      ys.push_back(o->ratio);
    }
    plot.layers.push_back(std::move(layer));
  }
  if (plot.layers.empty()) return std::nullopt;
  plot.x = fit_axis(Scale::log2, xs);
  plot.y = fit_axis(Scale::log10, ys);
  plot.description = fmt::format("{} curves of trained models, one colour per kind of positions.", plot.layers.size());
  figure.caption = plot.description;
  return figure;
}

std::string guide_markdown(const std::vector<Finding>& all, const std::vector<HeadChoice>& choices,
                           const std::string& figure) {
  std::string out =
      "# How many attention heads, of what width?\n\nWritten by `headroom report STUDY… --guide FILE` from the run "
      "stores. A "
      "profile other than `paper` is a pilot: smaller and shorter than what the paper trained. What the verdicts mean "
      "is in "
      "[claims.md](claims.md), every number in [results.md](results.md).\n\n";
  if (const std::string counts = counted_verdicts(all); !counts.empty())
    out += fmt::format("The paper’s claims: {}.\n\n", counts) + paper_table(all);
  if (!choices.empty()) {
    out += "## What to choose\n\n";
    if (!figure.empty())
      out += fmt::format("![Error over the best of its curve against the width of a head]({})\n\n", figure);
    out += width_table(choices) + choice_table(choices);
    out +=
        "A number of heads is *as good* where it is shown to be less than the margin (\"by\") worse than every other, "
        "*worse* "
        "where it is shown to be more than that worse than some other, else *open*: 5 % each, paired over seeds, on "
        "logarithms, corrected for the number of options. Rates were chosen for each number of heads on validation, "
        "where a "
        "study sweeps them.\n";
  }
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

void write_guide(const std::vector<StudyResults>& studies, const fs::path& file) {
  const std::vector<Finding> all = findings(studies);
  const std::vector<HeadChoice> choices = head_choices(all);
  std::string name;
  const auto gnuplot = find_gnuplot();
  if (const auto figure = gnuplot ? guide_figure(choices) : std::nullopt) {
    name = file.stem().string() + ".svg";
    write_file(file.parent_path() / name, draw(*gnuplot, figure->plot).file);
  }
  write_file(file, guide_markdown(all, choices, name));
}

}  // namespace headroom::experiments
