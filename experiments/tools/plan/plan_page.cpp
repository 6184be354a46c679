#include "experiments/tools/plan/plan_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <utility>

#include "engine/error.h"
#include "experiments/output/file.h"
#include "experiments/output/html.h"
#include "experiments/output/number.h"
#include "experiments/output/plot/gnuplot.h"
#include "experiments/output/plot/plot.h"
#include "experiments/output/plot/svg.h"
#include "experiments/output/text.h"
#include "experiments/output/units.h"
#include "experiments/tools/plan/basis.h"
#include "experiments/tools/plan/usual_heads.h"

namespace headroom::experiments {
namespace {

/// Whether a column says something: any of its cells begins with a letter.
bool is_words(const Cells& cells, size_t column) {
  return std::any_of(cells.begin() + 1, cells.end(), [&](const std::vector<std::string>& row) {
    return !row[column].empty() && std::isalpha(static_cast<unsigned char>(row[column][0])) != 0;
  });
}

/// Cells as allocation_text() and cost_text() have them, under a heading.
Blocks plan_table(const std::string& name, const Cells& cells) {
  std::set<size_t> words;
  for (size_t i = 0; i < cells[0].size(); ++i)
    if (is_words(cells, i)) words.insert(i);
  return {heading(name, 3), cells_table(name, cells, std::move(words))};
}

Layer line(const std::string& legend, const std::string& colour, int style) {
  Layer layer;
  layer.legend = legend;
  layer.colour = colour;
  layer.style = style;
  return layer;
}

/// Axes that show all marks.
void fit_axes(Plot& plot, Scale x_scale, Scale y_scale) {
  std::vector<double> xs, ys;
  for (const Layer& layer : plot.layers)
    for (const Mark& mark : layer.marks) {
      xs.push_back(mark.x);
      ys.push_back(mark.y);
      if (mark.high > mark.low) ys.insert(ys.end(), {std::max(mark.low, mark.y / 2), std::min(mark.high, mark.y * 2)});
    }
  plot.x = fit_axis(x_scale, xs);
  plot.y = fit_axis(y_scale, ys);
}

Plot tradeoff_plot(const AllocationPlan& plan) {
  Plot plot;
  plot.id = "plan-tradeoff";
  plot.title = "Bound against the number of equal heads";
  plot.description = fmt::format("Width {}, token dim {}: the paper's bound is least, {}, at {} heads of dim {}.",
                                 plan.request.width, plan.request.token_dim, rounded(plan.best_equal.paper),
                                 plan.best_equal.heads, plan.best_equal.head_dim);
  plot.x_label = "heads";
  plot.y_label = "bound on the error, in units of B";
  Layer paper = line("paper's bound", svg::category(0), 0), sharper = line("sharper bound", svg::category(1), 1);
  for (const EqualHeads& equal : plan.equal) {
    const auto heads = static_cast<double>(equal.heads);
    const auto hover = [&](double bound) {
      return fmt::format("{} heads of dim {}: {}", equal.heads, equal.head_dim, rounded(bound));
    };
    paper.marks.push_back({.x = heads, .y = equal.paper, .hover = hover(equal.paper)});
    sharper.marks.push_back({.x = heads, .y = equal.sharper, .hover = hover(equal.sharper)});
  }
  Layer nothing = line("no heads", svg::kMuted, 2);
  nothing.points = false;
  for (const EqualHeads* end : {&plan.equal.front(), &plan.equal.back()})
    nothing.marks.push_back({.x = static_cast<double>(end->heads), .y = plan.nothing});
  plot.layers = {std::move(sharper), std::move(paper), std::move(nothing)};
  fit_axes(plot, Scale::log2, Scale::linear);
  return plot;
}

Plot fit_plot(const StudyFit& fit) {
  Plot plot;
  plot.id = "plan-fit";
  plot.title = "What the study measured, and the bound scaled to it";
  plot.description = fmt::format("RMS error at every number of equal heads: measured best at {}, the fit's best at {}.",
                                 fit.measured_best, fit.fitted_best);
  plot.x_label = "heads";
  plot.y_label = "RMS error / token";
  Layer measured = line("measured", svg::category(0), 0), fitted = line("fit", svg::category(1), 1);
  for (const StudyFit::Point& point : fit.points) {
    const auto heads = static_cast<double>(point.heads);
    const auto add = [&](Layer& layer, double value) {
      if (value > 0)
        layer.marks.push_back({.x = heads,
                               .y = value,
                               .hover = fmt::format("{}, {} heads: {}", layer.legend, point.heads, rounded(value))});
    };
    add(measured, point.measured);
    add(fitted, point.fitted);
  }
  plot.layers = {std::move(measured), std::move(fitted)};
  fit_axes(plot, Scale::log2, Scale::log10);
  return plot;
}

Plot cost_plot(const CostPlan& plan) {
  Plot plot;
  plot.id = "plan-cost";
  plot.title = "Cost against the width of heads, beside the model's own";
  plot.description =
      "Parameters, FLOPs per token, cache and training memory at every head width, over the model's own.";
  plot.x_label = "head dim";
  plot.y_label = "times the model as given";
  const CostRow* own = &plan.rows.back();
  for (const CostRow& each : plan.rows)
    if (each.is_model) own = &each;
  const auto add = [&](const char* legend, const auto& value) {
    Layer layer = line(legend, svg::category(plot.layers.size()), 0);
    for (const CostRow& each : plan.rows)
      layer.marks.push_back(
          {.x = static_cast<double>(each.head_dim),
           .y = value(each) / value(*own),
           .hover = fmt::format("{}, head dim {}: {:.3g}", legend, each.head_dim, value(each) / value(*own))});
    plot.layers.push_back(std::move(layer));
  };
  add("parameters", [](const CostRow& r) { return static_cast<double>(r.costs.parameters); });
  add("FLOPs per token", [](const CostRow& r) { return r.costs.forward_flops; });
  add("KV cache", [](const CostRow& r) { return r.costs.kv_bytes; });
  add("training memory", [](const CostRow& r) { return r.costs.train_bytes(false); });
  fit_axes(plot, Scale::log2, Scale::linear);
  return plot;
}

/// A figure of the page, or a line that says why there is none.
Block plan_figure(const Plot& plot, const std::string& caption) {
  const auto gnuplot = find_gnuplot();
  if (!gnuplot) return paragraph("The figure is missing: gnuplot is not installed.", Role::notes);
  try {
    return figure(plot, caption, draw(*gnuplot, plot), "");
  } catch (const Error& error) {
    return paragraph(fmt::format("The figure is missing: {}", error.what()), Role::notes);
  }
}

/// What each kind of number on the page rests on.
Block basis_section(const Blocks& page) {
  Blocks items;
  for (const auto& [word, meaning] : basis_words(true)) {
    if (!mentions(page, word)) continue;
    Block& one = items.emplace_back(item(""));
    one.line = {{.text = word, .is_strong = true}, {": " + meaning}};
  }
  return section("What the numbers are based on", std::move(items));
}

Block allocation_section(const AllocationPlan& plan) {
  Blocks parts{
      paragraph(allocation_headline(plan)),
      plan_figure(
          tradeoff_plot(plan),
          "Equal heads at their best split over lags; B bounds the tokens. Where the sharper bound is not seen it "
          "is the paper's. The rise of the paper's bound on the right is an artefact of its proof: heads of one "
          "lag may take different coordinates, and the sharper bound stays flat.")};
  append(parts, plan_table("Allocations", allocation_cells(plan)));
  append(parts, plan_table("Terms of the bound", terms_cells(plan)));
  append(parts, plan_table("Equal heads", curve_cells(plan)));
  if (!plan.request.fits.empty()) {
    const StudyFit& first = plan.request.fits[0];
    parts.push_back(plan_figure(fit_plot(first), fit_text(first)));
    append(parts, plan_table("Fits to the study", fit_cells(plan.request.fits)));
    append(parts, plan_table("Measured and fitted", fit_point_cells(first)));
  }
  parts.push_back(paragraph(flatness_text(plan)));
  return section("How to split the width", std::move(parts));
}

Block cost_section(const CostPlan& plan) {
  Blocks parts{paragraph(cost_headline(plan))};
  if (plan.rows.size() > 1)
    parts.push_back(plan_figure(cost_plot(plan), "Counts at each head width, over those of the model as given."));
  const auto add = [&](const char* name, const Cells& cells, const char* note) {
    append(parts, plan_table(name, cells));
    parts.push_back(paragraph(note, Role::muted));
  };
  add("Counts", count_cells(plan), "* the model as given");
  add("Memory of training", memory_cells(plan), "Counts; activations are a guess at what a fused attention keeps.");
  add("Least time", time_cells(plan), "A lower bound.");
  parts.push_back(paragraph(machine_text(plan)));
  return section("What it costs", std::move(parts));
}

/// The advice, and below it the rest.
Blocks answer_blocks(const PlanAnswer& answer) {
  std::vector<Fact> rows;
  for (const auto& [term, text] : answer_rows(answer)) rows.push_back({term, {{text}}, {}});
  return {paragraph({{.text = capitalized(answer.advice), .is_strong = true}}, Role::headline),
          definitions(std::move(rows))};
}

const char* standing_word(HeadChoice::Option::Standing standing) {
  using Standing = HeadChoice::Option::Standing;
  if (standing == Standing::best) return "best on validation";
  if (standing == Standing::as_good) return "as good";
  return standing == Standing::worse ? "worse" : "not decided";
}

std::string choice_name(const HeadChoice& choice) {
  return choice.study + (choice.series.empty() ? "" : ", " + choice.series);
}

/// Every number of heads of one curve.
Blocks options_table(const HeadChoice& choice) {
  Cells cells = {{"heads", "width of each", "times the best", "interval", "standing"}};
  for (const HeadChoice::Option& o : choice.options) {
    const bool has_interval = std::isfinite(o.low) && std::isfinite(o.high);
    cells.push_back({exact(o.heads), exact(o.v_dim), rounded(o.ratio),
                     has_interval ? fmt::format("{} – {}", rounded(o.low), rounded(o.high)) : "—",
                     standing_word(o.standing)});
  }
  return plan_table(choice_name(choice), cells);
}

/// Each curve over its best.
Plot measured_plot(const std::string& task, const std::vector<MeasuredChoice>& measured) {
  Plot plot;
  plot.id = "plan-measured";
  plot.title = "Times the best against the number of heads: " + task;
  plot.description = "Of each curve, every number of heads over the best one.";
  plot.x_label = "heads";
  plot.y_label = "times the best of its curve";
  for (const MeasuredChoice& one : measured) {
    Layer layer = line(choice_name(one.choice), svg::category(plot.layers.size()),
                       static_cast<int>(plot.layers.size() / svg::kCategories));
    for (const HeadChoice::Option& o : one.choice.options) {
      // The best is what the others are measured by: its own interval has no width.
      const bool has_interval = std::isfinite(o.low) && std::isfinite(o.high);
      layer.marks.push_back({.x = o.heads,
                             .y = o.ratio,
                             .low = has_interval ? o.low : o.ratio * (1 - 1e-9),
                             .high = has_interval ? o.high : o.ratio * (1 + 1e-9),
                             .hover = fmt::format("{}, {} heads of width {}: {} times the best", layer.legend,
                                                  exact(o.heads), exact(o.v_dim), rounded(o.ratio))});
    }
    plot.layers.push_back(std::move(layer));
  }
  fit_axes(plot, Scale::log2, Scale::log10);
  return plot;
}

Document empty_page(const std::string& above) {
  const char* const name = "How many heads, of what width?";
  return {name, {header({paragraph("headroom plan" + above, Role::over), title(name)})}, "output/assets/report.css"};
}

void write_page(const std::filesystem::path& path, const Document& page) {
  if (path.has_parent_path()) make_folder(path.parent_path());
  write_file(path, as_html(page));
}

}  // namespace

void write_plan_page(const std::filesystem::path& path, const std::optional<PlanAnswer>& answer,
                     const std::optional<AllocationPlan>& allocation, const std::optional<CostPlan>& costs) {
  Document page = empty_page("");
  if (answer) append(page.blocks, answer_blocks(*answer));
  if (allocation) page.blocks.push_back(allocation_section(*allocation));
  if (costs && !allocation) append(page.blocks, answer_blocks(usual_answer(*costs)));
  if (costs) page.blocks.push_back(cost_section(*costs));
  page.blocks.push_back(basis_section(page.blocks));
  write_page(path, page);
}

void write_measured_page(const std::filesystem::path& path, const std::string& task,
                         const std::vector<MeasuredChoice>& measured, const std::optional<PlanAnswer>& answer) {
  Document page = empty_page(" --for " + task);
  if (answer) append(page.blocks, answer_blocks(*answer));
  for (const MeasuredChoice& one : measured)
    page.blocks.push_back(section(choice_name(one.choice), answer_blocks(answer_of(one))));
  Blocks parts{
      plan_figure(measured_plot(task, measured),
                  "Test metric over that of the number of heads that validation prefers, means over seeds, with "
                  "95 % intervals.")};
  for (const MeasuredChoice& one : measured) append(parts, options_table(one.choice));
  page.blocks.push_back(section("What was measured", std::move(parts)));
  write_page(path, page);
}

}  // namespace headroom::experiments
