#include "experiments/studies/pages/how_many_heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "experiments/output/file.h"
#include "experiments/output/html.h"
#include "experiments/output/number.h"
#include "experiments/output/plot/svg.h"
#include "experiments/studies/analysis/statistics.h"
#include "experiments/studies/pages/answer.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;
using Curves = std::vector<const HeadChoice*>;

Mark option_mark(const HeadChoice& c, const HeadChoice::Option& o) {
  const std::string lost = o.unlearned == 0 ? "" : fmt::format(", {} did not learn", counted(o.unlearned, "seed"));
  return {.x = o.qk_dim,
          .y = o.ratio,
          .hover = fmt::format("{}, {}{}: {} of width {}: {} times the best{}", c.task, positions_in_words(c.positions),
                               c.series.empty() ? "" : ", " + c.series, counted(std::lround(o.heads), "head"),
                               exact(o.qk_dim), rounded(o.ratio), lost)};
}

/// "best", "10×"; of an axis that ends below twice the best "+20 %".
std::string ratio_text(double ratio, double most) {
  if (ratio == 1) return "best";
  return most < 2 ? fmt::format("+{:.0f} %", 100 * (ratio - 1)) : fmt::format("{:.0f}×", ratio);
}

/// The error over the best of some curves that share a scale, on logarithms.
Axis ratio_axis(const Curves& curves) {
  std::vector<double> ratios;
  for (const HeadChoice* c : curves)
    for (const HeadChoice::Option& o : c->options) ratios.push_back(o.ratio);
  const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
  const double air = std::pow(std::max(*high / *low, 1.1), 0.07);
  Axis axis = fit_axis(Scale::log10, ratios);
  axis.low = *low / air;
  axis.high = *high * air * air;  // room for a note
  std::erase_if(axis.ticks, [&](double tick) { return tick < 1 || tick > axis.high; });
  for (const double tick : axis.ticks) axis.labels.push_back(ratio_text(tick, *high));
  return axis;
}

/// The mean at each width that at least half of the curves have.
Layer mean_line(const Curves& curves) {
  std::map<double, std::vector<double>> ratios;
  for (const HeadChoice* c : curves)
    for (const HeadChoice::Option& o : c->options) ratios[o.qk_dim].push_back(std::max(o.ratio, 1.0));
  Layer line;
  line.legend = "mean";
  line.colour = Colour::muted;
  line.points = false;
  for (const auto& [dim, values] : ratios)
    if (2 * values.size() >= curves.size()) line.marks.push_back({dim, geometric_mean(values)});
  return line;
}

/// A panel of a task's curves. Schemes are drawn side by side, so that they do not hide one another.
Plot task_panel(const Curves& curves, const std::vector<std::string>& schemes) {
  Plot plot;
  plot.title = fmt::format("{} ({})", curves[0]->task, curves.size());
  plot.layers.push_back(mean_line(curves));
  for (size_t i = 0; i < schemes.size(); ++i) {
    Layer learned, lost;
    learned.kind = Layer::Kind::rings;
    lost.kind = Layer::Kind::crosses;
    learned.colour = lost.colour = category(i);
    learned.times_x = lost.times_x =
        std::exp2(0.11 * (static_cast<double>(i) - static_cast<double>(schemes.size() - 1) / 2));
    learned.legend = schemes[i] == "none" ? "no positions" : positions_in_words(schemes[i]);
    for (const HeadChoice* c : curves)
      for (const HeadChoice::Option& o : c->options)
        if (scheme_of(*c) == schemes[i]) (o.unlearned > 0 ? lost : learned).marks.push_back(option_mark(*c, o));
    for (Layer* layer : {&learned, &lost})
      if (!layer->marks.empty()) plot.layers.push_back(std::move(*layer));
  }
  return plot;
}

/// Notes the worst of the options that `is_asked`, of those that every seed learned.
template <class IsAsked>
void note_worst(std::vector<Plot>& panels, const std::vector<Curves>& tasks, const std::vector<std::string>& schemes,
                const IsAsked& is_asked) {
  const HeadChoice::Option* worst = nullptr;
  size_t panel = 0, scheme = 0;
  for (size_t i = 0; i < tasks.size(); ++i)
    for (const HeadChoice* c : tasks[i])
      for (const HeadChoice::Option& o : c->options) {
        if (o.unlearned > 0 || !is_asked(*c, o) || (worst && o.ratio <= worst->ratio)) continue;
        worst = &o;
        panel = i;
        scheme = static_cast<size_t>(std::find(schemes.begin(), schemes.end(), scheme_of(*c)) - schemes.begin());
      }
  if (!worst || worst->ratio < 1.05) return;
  const std::string what = worst->heads == 1 ? "one head" : exact(worst->qk_dim) + " wide";
  panels[panel].notes.push_back({worst->qk_dim, worst->ratio,
                                 fmt::format("{}: {}", what, ratio_text(worst->ratio, worst->ratio)),
                                 category(scheme)});
}

/// A section for each heading that studies ask for ([study] guide), in the order in which they come: each study
/// with its answer.
Blocks guide_sections(const std::vector<Analysis>& all) {
  nlohmann::ordered_map<std::string, Blocks> sections;
  for (const Analysis& r : all) {
    const bool is_judged = std::any_of(r.verdicts().begin(), r.verdicts().end(),
                                       [](const Verdict& v) { return v.status != VerdictStatus::not_run; });
    if (r.guide.empty() || !is_judged) continue;
    const std::string page = page_name(all, r);
    sections[r.guide].push_back(
        item(Phrase{{.text = page, .link = fmt::format("results/{}.md", page)}, {": " + answer(r).words}}));
  }
  Blocks out;
  for (auto& [name, items] : sections) {
    out.push_back(heading(name));
    append(out, std::move(items));
  }
  return out;
}

}  // namespace

Figure guide_figure(const Curves& curves) {
  std::vector<std::string> schemes = schemes_of(curves);
  const auto count = [&](const std::string& scheme) {
    return std::count_if(curves.begin(), curves.end(), [&](const HeadChoice* c) { return scheme_of(*c) == scheme; });
  };
  std::stable_sort(schemes.begin(), schemes.end(), [&](const auto& a, const auto& b) { return count(a) > count(b); });
  Figure figure;
  Plot& plot = figure.plot;
  plot.id = "how-many-heads";
  plot.title = "Error against the best number of heads, by the width of a head";
  plot.x_label = "width of a head";
  plot.y_label = "error against the best number of heads";
  Curves texts, others;
  std::vector<double> dims;
  for (const HeadChoice* c : curves) {
    (c->is_of_text() ? texts : others).push_back(c);
    for (const HeadChoice::Option& o : c->options) dims.push_back(o.qk_dim);
  }
  const std::vector<Curves> tasks = by_task(curves);
  for (const Curves& task : tasks) {
    Plot& panel = plot.small.emplace_back(task_panel(task, schemes));
    panel.x = fit_axis(Scale::log2, dims);
    panel.y = ratio_axis(task[0]->is_of_text() ? texts : others);
    panel.x_label = "width of a head";
    panel.y_label = "error over the best, " + task[0]->task;
  }
  using Option = HeadChoice::Option;
  note_worst(plot.small, tasks, schemes, [](const HeadChoice& c, const Option&) { return c.is_of_text(); });
  note_worst(plot.small, tasks, schemes,
             [](const HeadChoice& c, const Option& o) { return !c.is_of_text() && o.heads > 1; });
  note_worst(plot.small, tasks, schemes,
             [](const HeadChoice& c, const Option& o) { return !c.is_of_text() && o.heads == 1; });
  plot.description = fmt::format(
      "Each ring is a number of heads on one of {}, each cross one at which some seed did not learn; brackets count "
      "the curves. Texts have their own scale.",
      counted(std::ssize(curves), "curve"));
  figure.caption = plot.description;
  return figure;
}

Blocks how_many_heads_page(const std::vector<HeadChoice>& choices, const std::string& details) {
  const Curves curves = distinct_learned(choices);
  Blocks page{title("How many attention heads, of what width?")};
  if (curves.empty()) {
    page.push_back(paragraph("No curve of trained models over the number of heads exists yet."));
  } else {
    page.push_back(paragraph(
        "Find your task, tune the learning rate first, then try half and twice as many heads. D is the model’s width. "
        "All models were small."));
    page.push_back(choice_picker(curves, details));
    const Figure drawn = guide_figure(curves);
    page.push_back(figure(drawn.plot, drawn.plot.title));
    page.push_back(paragraph(drawn.caption));
    if (std::any_of(curves.begin(), curves.end(), [](const HeadChoice* c) { return c->is_of_text(); })) {
      page.push_back(heading("How wide, by scheme of positions"));
      page.push_back(paragraph(
          "On texts many widths of a head do alike. Within 1 %: shown on some curve at 5 %, and no curve shows more."));
      page.push_back(choice_ranges(curves));
    }
    page.push_back(heading("What holds throughout"));
    append(page, choice_rules(curves));
    if (Blocks searches = choice_searches(curves); !searches.empty()) {
      page.push_back(heading("If you can search"));
      append(page, std::move(searches));
    }
    page.push_back(heading("What is not known"));
    append(page, choice_limits(choices, curves));
    page.push_back(heading("How to read the table"));
    page.push_back(paragraph(
        "Each answer is the number of heads that is worse, or fails to learn, on the smallest share of the curves of "
        "its task and width; a tie goes to the number nearest to the best on average. A scheme of positions has its "
        "own row if that answer is worse on at least half of its curves. Good: "
        "shown at 5 % to be less than 10 % worse (1 % of a cross-entropy or an accuracy) than every other number. "
        "Worse: shown to be more than that worse than some other. headroom plan --for TASK --width D answers alike."));
  }
  page.push_back(paragraph(Phrase{{"Behind this page: "},
                                  {.text = "side questions, and which studies each answer rests on", .link = details},
                                  {"; "},
                                  {.text = "all studies", .link = "results.md"},
                                  {"; "},
                                  {.text = "what verdicts mean", .link = "claims.md"},
                                  {"."}}));
  return page;
}

Blocks heads_details_page(const std::vector<Analysis>& all, const std::vector<HeadChoice>& choices) {
  Blocks page{title("How many attention heads: what the answers rest on"),
              paragraph(Phrase{{"The paper’s own sentences, with the studies that test each, are in "},
                               {.text = "results", .link = "results.md"},
                               {". "},
                               {.text = "headroom report STUDY… --choices FILE", .is_code = true},
                               {" writes every curve with all its numbers of heads."}})};
  append(page, guide_sections(all));
  const Curves curves = distinct_learned(choices);
  if (curves.empty()) return page;
  page.push_back(heading("The studies behind each answer"));
  append(page, choice_costs(all, curves));
  page.push_back(heading("How a number of heads is judged"));
  page.push_back(paragraph(
      "Each number of heads is compared with every other of its curve: at 5 %, paired over seeds, on logarithms, "
      "corrected for how many numbers a curve has. The test is not corrected for how many curves there are, nor for "
      "seeds that were added until a study’s claims were decided. The studies’ verdicts are corrected, so they may "
      "leave open what counts as worse here. A number at which some seed did not learn decides nothing."));
  return page;
}

void write_guide(const std::vector<Analysis>& all, const fs::path& file) {
  const std::vector<HeadChoice> choices = head_choices(all);
  const bool is_html = file.extension() == ".html";
  const std::string stem = file.stem().string(), details = stem + "-details" + file.extension().string();
  Blocks page = how_many_heads_page(choices, details);
  for (Block& block : page) {
    if (block.kind != Block::Kind::figure || is_html) continue;
    block.file = stem + ".svg";
    write_file(file.parent_path() / block.file, svg_of(block.plot, {.surface = Surface::file}));
  }
  const auto write = [&](const fs::path& path, const Blocks& blocks) {
    write_file(path,
               is_html ? as_html({blocks[0].line[0].text, blocks, "output/assets/guide.css"}) : as_markdown(blocks));
  };
  write(file.parent_path() / details, heads_details_page(all, choices));
  write(file, page);
}

}  // namespace headroom::experiments
