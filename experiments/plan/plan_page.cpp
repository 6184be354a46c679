#include "experiments/plan/plan_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "engine/error.h"
#include "experiments/claims/number.h"
#include "experiments/plan/basis.h"
#include "experiments/report/file.h"
#include "experiments/report/gnuplot.h"
#include "experiments/report/page.h"
#include "experiments/report/page_sections.h"
#include "experiments/report/plot.h"
#include "experiments/report/svg.h"
#include "experiments/report/text.h"
#include "experiments/run/units.h"

namespace headroom::experiments {
namespace {

/// Whether a column says something: any of its cells begins with a letter.
bool is_words(const Cells& cells, size_t column) {
  return std::any_of(cells.begin() + 1, cells.end(), [&](const std::vector<std::string>& row) {
    return !row[column].empty() && std::isalpha(static_cast<unsigned char>(row[column][0])) != 0;
  });
}

/// Cells as allocation_text() and cost_text() have them, the first row its heads, under a heading.
std::string table_of(const std::string& name, const Cells& cells) {
  std::set<size_t> words;
  for (size_t i = 0; i < cells[0].size(); ++i)
    if (is_words(cells, i)) words.insert(i);
  std::string rows;
  for (size_t r = 1; r < cells.size(); ++r) {
    rows += "<tr>";
    for (size_t i = 0; i < cells[r].size(); ++i)
      rows += fmt::format("<{0}{1}{2}>{3}</{0}>", i == 0 ? "th" : "td", i == 0 ? " scope=\"row\"" : "",
                          words.count(i) ? " class=\"word\"" : "", escape(cells[r][i]));
    rows += "</tr>\n";
  }
  return element("h3", escape(name)) + "\n" + sortable_table(name, cells[0], rows, words);
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
    for (const Mark& mark : layer.marks) xs.push_back(mark.x), ys.push_back(mark.y);
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
  plot.y_label = "bound / B";
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
  plot.y_label = "share of the model's own";
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
std::string figure_of(const Plot& plot, const std::string& caption) {
  const auto gnuplot = find_gnuplot();
  if (!gnuplot) return "<p class=\"notes\">The figure is missing: gnuplot is not installed.</p>\n";
  try {
    return figure_block(page_figure({plot, caption, ""}, draw(*gnuplot, plot), ""));
  } catch (const Error& error) {
    return fmt::format("<p class=\"notes\">The figure is missing: {}</p>\n", escape(error.what()));
  }
}

std::string basis_list() {
  std::string out = "<section>\n<h2>What the numbers are based on</h2>\n<ul>\n";
  for (const auto& [word, meaning] : basis_words())
    out += fmt::format("<li>{}: {}</li>\n", escape(word), escape(meaning));
  return out + "</ul>\n</section>\n";
}

std::string allocation_section(const AllocationPlan& plan) {
  std::string out = "<section>\n<h2>How to split the width</h2>\n<p>" + escape(allocation_headline(plan)) + "</p>\n";
  out += figure_of(tradeoff_plot(plan),
                   "Equal heads at their best split over lags. The rise of the paper's bound at the "
                   "right is an artefact of its proof: heads of one lag may take different "
                   "coordinates, and the sharper bound stays flat.");
  out += table_of("Allocations", allocation_cells(plan)) + table_of("Terms of the bound", terms_cells(plan)) +
         table_of("Equal heads", curve_cells(plan));
  if (!plan.request.fits.empty())
    out += figure_of(fit_plot(plan.request.fits[0]), fit_text(plan.request.fits[0])) +
           table_of("Fits to the study", fit_cells(plan.request.fits)) +
           table_of("Measured and fitted", fit_point_cells(plan.request.fits[0]));
  return out + "<p>" + escape(flatness_text(plan)) + "</p>\n</section>\n";
}

std::string cost_section(const CostPlan& plan) {
  std::string out = "<section>\n<h2>What it costs</h2>\n<p>" + escape(cost_headline(plan)) + "</p>\n";
  if (plan.rows.size() > 1)
    out += figure_of(cost_plot(plan), "Counts at each head width, over those of the model as given.");
  return out + table_of("Counts", count_cells(plan)) + table_of("Memory of training", memory_cells(plan)) +
         table_of("Least time", time_cells(plan)) + "<p>" + escape(machine_text(plan)) + "</p>\n</section>\n";
}

}  // namespace

void write_plan_page(const std::filesystem::path& path, const std::optional<AllocationPlan>& allocation,
                     const std::optional<CostPlan>& costs) {
  std::string body = "<header>\n<p class=\"over\">headroom plan</p>\n<h1>Heads for a width</h1>\n</header>\n<main>\n";
  if (allocation) body += allocation_section(*allocation);
  if (costs) body += cost_section(*costs);
  if (path.has_parent_path()) make_folder(path.parent_path());
  write_file(path, document("headroom plan", body + basis_list() + "</main>\n"));
}

}  // namespace headroom::experiments
