#include "experiments/report/guide_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "experiments/claims/number.h"
#include "experiments/report/file.h"
#include "experiments/report/gnuplot.h"
#include "experiments/report/guide_choices.h"
#include "experiments/report/guide_claims.h"
#include "experiments/report/guideline_page.h"
#include "experiments/report/headline.h"
#include "experiments/report/law_section.h"
#include "experiments/report/plan_answers.h"
#include "experiments/report/svg.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

void append(std::vector<Block>& page, std::vector<Block> more) {
  for (Block& block : more) page.push_back(std::move(block));
}

/// The best number against the sizes, by every study that fits a law.
std::vector<Block> laws(const std::vector<Finding>& all) {
  std::vector<Block> out;
  for (const Finding& f : all)
    if (const auto law = fitted_law(f.results); law && !law->rows.empty())
      out.push_back(item(fmt::format("{} ({}): {}", f.results.id, f.results.profile, law_sentence(*law))));
  if (!out.empty()) out.insert(out.begin(), heading("The best number against the model’s sizes"));
  return out;
}

/// Whether the heads of a plan are worth following: the studies that ask for it have this in their ids.
bool asks_for_the_plan(const Finding& f) { return f.results.id.starts_with("plan-"); }

std::vector<Block> plans(const std::vector<Finding>& all) {
  std::vector<Block> out;
  for (const Finding& f : all) {
    if (!asks_for_the_plan(f)) continue;
    for (const Verdict& v : f.verdicts)
      if (v.status != VerdictStatus::not_run) out.push_back(item(claim_finding(f.results, v)));
    for (const std::string& answer : plan_answers(f.results)) out.push_back(item(answer));
  }
  if (!out.empty()) out.insert(out.begin(), heading("Does the plan win?"));
  return out;
}

}  // namespace

std::optional<Figure> guide_figure(const std::vector<HeadChoice>& choices) {
  Figure figure;
  Plot& plot = figure.plot;
  plot.id = "how-many-heads";
  plot.title = "Error over the best of its curve against the width of a head";
  plot.x_label = "width of a head, D/H";
  plot.y_label = "error / best";
  std::vector<double> xs, ys;
  std::map<std::string, size_t> colours;  // positions → category
  for (const HeadChoice* const curve : distinct_learned(choices)) {
    const HeadChoice& c = *curve;
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

std::vector<Block> guide_page(const std::vector<Finding>& all, const std::vector<HeadChoice>& choices) {
  std::vector<Block> page{
      title("How many attention heads, of what width?"),
      paragraph("Written by headroom report STUDY… --guide FILE from the run stores. A pilot is "
                "smaller and shorter than what the paper trained; its verdicts speak of the pilot.")};
  Block& links = page.emplace_back();
  links.line = {{"What the verdicts mean is in "},
                {.text = "claims.md", .link = "claims.md"},
                {", every number in "},
                {.text = "results.md", .link = "results.md"},
                {"."}};
  append(page, guide_claims(all));
  if (!choices.empty()) {
    page.push_back(heading("What to choose"));
    append(page, choice_sentences(choices));
    if (const std::string words = guideline_sentence(choices); !words.empty()) page.push_back(paragraph(words));
    Block& figure = page.emplace_back();
    figure.kind = Block::Kind::figure;
    figure.line = {{"Error over the best of its curve against the width of a head"}};
    append(page, choice_tables(choices));
  }
  append(page, laws(all));
  append(page, plans(all));
  return page;
}

void write_guide(const std::vector<StudyResults>& studies, const fs::path& file) {
  const std::vector<Finding> all = findings(studies);
  const std::vector<HeadChoice> choices = head_choices(all);
  std::vector<Block> page = guide_page(all, choices);
  const bool is_html = file.extension() == ".html";
  const auto gnuplot = find_gnuplot();
  if (const auto figure = gnuplot ? guide_figure(choices) : std::nullopt) {
    const Drawing drawn = draw(*gnuplot, figure->plot);
    const std::string name = file.stem().string() + ".svg";
    for (Block& block : page) {
      if (block.kind != Block::Kind::figure) continue;
      block.file = name;
      block.svg = drawn.wide;
    }
    if (!is_html) write_file(file.parent_path() / name, drawn.file);
  }
  write_file(file, is_html ? as_html(page) : as_markdown(page));
}

}  // namespace headroom::experiments
