#include "experiments/studies/pages/how_many_heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include "experiments/output/file.h"
#include "experiments/output/html.h"
#include "experiments/output/number.h"
#include "experiments/output/plot/gnuplot.h"
#include "experiments/output/plot/svg.h"
#include "experiments/output/text.h"
#include "experiments/studies/claims/statistics.h"
#include "experiments/studies/pages/guide_parts.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

/// A figure of errors over widths, still without lines.
Figure width_figure(const std::string& id, const std::string& title) {
  return without_layers(id, title, "width of a head, D/H", "error / best");
}

/// The tasks' curves, by the task's words.
using ByTask = std::map<std::string, std::vector<const HeadChoice*>>;

/// One line per task: at each width that half of the task's curves have, the geometric mean over those of error / best.
Figure joint_figure(const ByTask& tasks, const std::string& id) {
  Figure figure = width_figure(id, "All tasks: error over the best of its curve against the width of a head");
  Plot& plot = figure.plot;
  std::vector<double> xs, ys;
  for (const auto& [task, curves] : tasks) {
    std::map<double, std::vector<double>> ratios;  // width → of the curves that have it
    for (const HeadChoice* const curve : curves)
      for (const HeadChoice::Option& o : curve->options)
        if (std::isfinite(o.ratio) && o.ratio > 0) ratios[o.qk_dim].push_back(o.ratio);
    Layer layer;
    layer.legend = task;
    layer.colour = svg::category(plot.layers.size());
    layer.style = static_cast<int>(plot.layers.size() / svg::kCategories);
    for (const auto& [width, some] : ratios) {
      if (2 * some.size() < curves.size()) continue;
      const double middle = geometric_mean(some);
      const auto [least, most] = std::minmax_element(some.begin(), some.end());
      const std::string range =
          some.size() == 1 ? "" : fmt::format(" on average, {} to {}", rounded(*least), rounded(*most));
      layer.marks.push_back({width, middle, middle, middle,
                             fmt::format("{}: heads of width {}: {} times the best{} ({} of {})", task, exact(width),
                                         rounded(middle), range, some.size(), counted(std::ssize(curves), "curve"))});
      xs.push_back(width);
      ys.push_back(middle);
    }
    if (!layer.marks.empty()) plot.layers.push_back(std::move(layer));
  }
  plot.x = fit_axis(Scale::log2, xs);
  plot.y = fit_axis(Scale::log10, ys);
  plot.description =
      "Error over the best of its curve against the width of a head, a line for each task: the geometric mean over the "
      "task's curves, at the widths that at least half of them have. The single curves, with their intervals, are "
      "under “Curve by curve”.";
  figure.caption = plot.description;
  return figure;
}

/// One layer per curve, one colour per kind of positions.
Figure curves_figure(const std::vector<const HeadChoice*>& curves, const std::string& id, const std::string& title) {
  Figure figure = width_figure(id, title);
  Plot& plot = figure.plot;
  std::vector<double> xs, ys;
  std::map<std::string, size_t> colours;  // positions → category
  for (const HeadChoice* const curve : curves) {
    const HeadChoice& c = *curve;
    const bool is_new = colours.emplace(c.positions, colours.size()).second;
    Layer layer;
    layer.legend = is_new ? positions_in_words(c.positions) : "";
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
  plot.x = fit_axis(Scale::log2, xs);
  plot.y = fit_axis(Scale::log10, ys);
  plot.description = fmt::format("{}: {} of trained models, one colour per kind of positions.", title,
                                 counted(std::ssize(curves), "curve"));
  figure.caption = plot.description;
  return figure;
}

Block guide_figure(const Figure& f) { return figure(f.plot, f.plot.title, {}, f.plot.id + ".svg"); }

}  // namespace

std::vector<Figure> guide_figures(const std::vector<HeadChoice>& choices, const std::string& stem) {
  ByTask by_task;
  for (const HeadChoice* c : distinct_learned(choices)) by_task[c->task.empty() ? "other tasks" : c->task].push_back(c);
  std::vector<Figure> figures;
  const bool is_joint = by_task.size() > 1;
  if (is_joint) figures.push_back(joint_figure(by_task, stem));
  for (const auto& [task, curves] : by_task) {
    figures.push_back(curves_figure(curves, is_joint ? stem + "-" + slug(task) : stem, capitalized(task)));
  }
  return figures;
}

Blocks how_many_heads_page(const std::vector<Finding>& all, const std::vector<HeadChoice>& choices,
                           const std::vector<Figure>& figures) {
  Blocks page{
      title("How many attention heads, of what width?"),
      paragraph("How many heads suit a task, under which positions, and how sure is that? The answers come "
                "from trained models, most of them pilots: smaller and trained for less time than the paper’s."),
      paragraph(Phrase{{"What the verdicts mean is in "},
                       {.text = "claims.md", .link = "claims.md"},
                       {", every number in "},
                       {.text = "results.md", .link = "results.md"},
                       {"."}})};
  const bool is_joint = figures.size() > 1;
  if (!choices.empty()) {
    page.push_back(heading("What to choose"));
    append(page, choice_advice(choices));
    if (is_joint) {
      page.push_back(guide_figure(figures.front()));
      page.push_back(paragraph(figures.front().caption));
    }
    append(page, choice_sentences(choices));
    if (const std::string words = guideline_sentence(choices); !words.empty()) page.push_back(paragraph(words));
  }
  page.push_back(heading("What the paper says, and what was measured"));
  append(page, guide_claims(all));
  append(page, guide_sections(all));
  if (choices.empty()) return page;
  page.push_back(heading("Curve by curve"));
  for (size_t i = is_joint ? 1 : 0; i < figures.size(); ++i) page.push_back(guide_figure(figures[i]));
  append(page, choice_tables(choices));
  return page;
}

void write_guide(const std::vector<StudyResults>& studies, const fs::path& file) {
  const std::vector<Finding> all = findings(studies);
  const std::vector<HeadChoice> choices = head_choices(all);
  const auto gnuplot = find_gnuplot();
  const std::vector<Figure> figures = gnuplot ? guide_figures(choices, file.stem().string()) : std::vector<Figure>{};
  Blocks page = how_many_heads_page(all, choices, figures);
  const bool is_html = file.extension() == ".html";
  for (const Figure& figure : figures) {
    const Drawing drawn = draw(*gnuplot, figure.plot);
    const std::string name = figure.plot.id + ".svg";
    for (Block& block : page)
      if (block.file == name) block.drawing = drawn;
    if (!is_html) write_file(file.parent_path() / name, drawn.file);
  }
  const auto is_alone = [](Block& block) { block.file.clear(); };
  if (is_html) std::for_each(page.begin(), page.end(), is_alone);
  write_file(file, is_html ? as_html({page[0].line[0].text, page, "output/assets/guide.css"}) : as_markdown(page));
}

}  // namespace headroom::experiments
