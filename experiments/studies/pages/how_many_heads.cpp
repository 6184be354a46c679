#include "experiments/studies/pages/how_many_heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/output/file.h"
#include "experiments/output/html.h"
#include "experiments/output/number.h"
#include "experiments/output/plot/gnuplot.h"
#include "experiments/output/plot/svg.h"
#include "experiments/studies/pages/guide_parts.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;
using Curves = std::vector<const HeadChoice*>;

Mark option_mark(const HeadChoice& c, const HeadChoice::Option& o, double shift) {
  const std::string lost = o.unlearned == 0 ? "" : fmt::format(", {} did not learn", counted(o.unlearned, "seed"));
  return {.x = o.qk_dim * std::exp2(shift),
          .y = o.ratio,
          .hover = fmt::format("{}, {}{}: {} heads of width {}: {} times the best{}", c.task,
                               positions_in_words(c.positions), c.series.empty() ? "" : ", " + c.series, exact(o.heads),
                               exact(o.qk_dim), rounded(o.ratio), lost)};
}

/// A panel of some curves. Schemes are drawn side by side, so that they do not hide one another.
Plot ratio_panel(const Curves& curves, const std::vector<std::string>& schemes, const std::string& what, Scale scale) {
  Plot plot;
  plot.x_label = "width of a head, D/H";
  plot.y_label = "error / best, " + what;
  std::vector<double> xs, ys;
  for (size_t i = 0; i < schemes.size(); ++i) {
    const double shift = 0.11 * (static_cast<double>(i) - static_cast<double>(schemes.size() - 1) / 2);
    Layer learned, lost;
    learned.colour = lost.colour = svg::category(i);
    learned.kind = Layer::Kind::rings;
    lost.kind = Layer::Kind::crosses;
    for (const HeadChoice* c : curves)
      for (const HeadChoice::Option& o : c->options) {
        if (scheme_of(*c) != schemes[i]) continue;
        (o.unlearned > 0 ? lost : learned).marks.push_back(option_mark(*c, o, shift));
        xs.push_back(o.qk_dim);
        ys.push_back(o.ratio);
      }
    learned.legend = learned.marks.empty()  ? ""
                     : schemes[i] == "none" ? "no positions"
                                            : positions_in_words(schemes[i]);
    for (Layer* layer : {&learned, &lost})
      if (!layer->marks.empty()) plot.layers.push_back(std::move(*layer));
  }
  plot.x = fit_axis(Scale::log2, xs);
  plot.y = fit_axis(scale, ys);
  return plot;
}

}  // namespace

Figure guide_figure(const Curves& curves) {
  Curves texts, others;
  for (const HeadChoice* c : curves) (c->is_of_text() ? texts : others).push_back(c);
  std::vector<std::string> schemes = schemes_of(curves);
  const auto count = [&](const std::string& scheme) {
    return std::count_if(curves.begin(), curves.end(), [&](const HeadChoice* c) { return scheme_of(*c) == scheme; });
  };
  std::stable_sort(schemes.begin(), schemes.end(), [&](const auto& a, const auto& b) { return count(a) > count(b); });
  Figure figure;
  Plot& plot = figure.plot;
  plot = texts.empty() ? ratio_panel(others, schemes, "other tasks", Scale::log10)
                       : ratio_panel(texts, schemes, "texts", Scale::linear);
  if (!texts.empty() && !others.empty()) {
    Plot below = ratio_panel(others, schemes, "other tasks", Scale::log10);
    std::vector<double> xs;
    for (const HeadChoice* c : curves)
      for (const HeadChoice::Option& o : c->options) xs.push_back(o.qk_dim);
    plot.x = below.x = fit_axis(Scale::log2, xs);
    const auto is_named = [&](const Layer& layer) {
      return std::any_of(plot.layers.begin(), plot.layers.end(),
                         [&](const Layer& above) { return above.colour == layer.colour; });
    };
    if (std::all_of(below.layers.begin(), below.layers.end(), is_named))
      for (Layer& layer : below.layers) layer.legend = "";
    plot.below.push_back(std::move(below));
  }
  plot.id = "how-many-heads";
  plot.title = "Error over the best of its curve against the width of a head";
  plot.description = fmt::format(
      "A ring is one number of heads on one of {}, a cross one at which some seed did not learn; the colour tells the "
      "positions.",
      counted(std::ssize(curves), "curve"));
  figure.caption = plot.description;
  return figure;
}

Blocks how_many_heads_page(const std::vector<Finding>& all, const std::vector<HeadChoice>& choices,
                           const std::string& details) {
  const Curves curves = distinct_learned(choices);
  Blocks page{title("How many attention heads, of what width?")};
  if (curves.empty()) {
    page.push_back(paragraph("No curve of trained models over the number of heads says yet."));
  } else {
    page.push_back(paragraph(
        "Find your task, tune the learning rate first, then try half and twice as many heads. 1.10× is 10 % more error "
        "than the best; D is the model’s width. All models were small."));
    page.push_back(choice_picker(all, curves));
    const Figure drawn = guide_figure(curves);
    page.push_back(figure(drawn.plot, drawn.plot.title, {}, ""));
    page.push_back(paragraph(drawn.caption));
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
        "Each answer is the number of heads that is shown to be worse, or fails to learn, on the smallest share of the "
        "curves of its task and width; of several, the one nearest to the best on average. A scheme of positions has a "
        "row of its own where that answer is shown to be worse on at least half of its curves; any: all that were "
        "measured. Good: shown at 5 % to be less than 10 % worse (1 % of a cross-entropy or an accuracy) than every "
        "other number; worse: shown to be "
        "more than that worse than some other. What one head and narrow heads cost is their error over the best, on "
        "average. headroom plan --for TASK --width D gives the same answers."));
  }
  page.push_back(paragraph(Phrase{{"Behind this page: "},
                                  {.text = "the paper’s claims, side questions and every curve", .link = details},
                                  {"; "},
                                  {.text = "all studies", .link = "results.md"},
                                  {"; "},
                                  {.text = "what verdicts mean", .link = "claims.md"},
                                  {"."}}));
  return page;
}

Blocks heads_details_page(const std::vector<Finding>& all, const std::vector<HeadChoice>& choices) {
  Blocks page{title("How many attention heads: what the answers rest on"),
              heading("What the paper says, and what was measured")};
  append(page, guide_claims(all));
  append(page, guide_sections(all));
  if (choices.empty()) return page;
  page.push_back(heading("Curve by curve"));
  append(page, choice_tables(choices));
  return page;
}

void write_guide(const std::vector<StudyResults>& studies, const fs::path& file) {
  const std::vector<Finding> all = findings(studies);
  const std::vector<HeadChoice> choices = head_choices(all);
  const bool is_html = file.extension() == ".html";
  const std::string stem = file.stem().string(), details = stem + "-details" + file.extension().string();
  Blocks page = how_many_heads_page(all, choices, details);
  const auto gnuplot = find_gnuplot();
  for (Block& block : page) {
    if (block.kind != Block::Kind::figure || !gnuplot) continue;
    block.drawing = draw(*gnuplot, block.plot);
    if (is_html) continue;
    block.file = stem + ".svg";
    write_file(file.parent_path() / block.file, block.drawing.file);
  }
  const auto write = [&](const fs::path& path, const Blocks& blocks) {
    write_file(path,
               is_html ? as_html({blocks[0].line[0].text, blocks, "output/assets/guide.css"}) : as_markdown(blocks));
  };
  write(file.parent_path() / details, heads_details_page(all, choices));
  write(file, page);
}

}  // namespace headroom::experiments
