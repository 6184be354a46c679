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
#include "experiments/output/plot/plot.h"
#include "experiments/output/text.h"
#include "experiments/output/units.h"

namespace headroom::experiments {
namespace {

/// Under a heading. Columns of words are those with a cell that begins with a letter.
Blocks table_blocks(const PlanTable& table) {
  std::set<size_t> words;
  for (size_t row = 1; row < table.cells.size(); ++row)
    for (size_t i = 0; i < table.cells[row].size(); ++i)
      if (std::isalpha(static_cast<unsigned char>(table.cells[row][i][0])) != 0) words.insert(i);
  Blocks out{heading(table.name, 3), cells_table(table.name, table.cells, std::move(words))};
  if (!table.note.empty()) out.push_back(paragraph(table.note, Role::muted));
  return out;
}

void append_tables(Blocks& parts, const std::vector<PlanTable>& tables) {
  for (const PlanTable& table : tables) append(parts, table_blocks(table));
}

Layer line(const std::string& legend, Colour colour, int style) {
  return {.legend = legend, .colour = colour, .style = style, .marks = {}};
}

Plot plot_of(const char* id, const std::string& title, const std::string& description, const char* x_label,
             const char* y_label) {
  Plot plot;
  plot.id = id;
  plot.title = title;
  plot.description = description;
  plot.x_label = x_label;
  plot.y_label = y_label;
  return plot;
}

/// Axes that show all marks, with the heads or their width in factors of two.
void fit_axes(Plot& plot, Scale y_scale) {
  std::vector<double> xs, ys;
  for (const Layer& layer : plot.layers)
    for (const Mark& mark : layer.marks) {
      xs.push_back(mark.x);
      ys.push_back(mark.y);
      if (mark.high > mark.low) ys.insert(ys.end(), {std::max(mark.low, mark.y / 2), std::min(mark.high, mark.y * 2)});
    }
  plot.x = fit_axis(Scale::log2, xs);
  plot.y = fit_axis(y_scale, ys);
}

Plot tradeoff_plot(const AllocationPlan& plan) {
  Plot plot = plot_of("plan-tradeoff", "Bound against the number of equal heads",
                      fmt::format("Width {}, token dim {}: the paper's bound is least, {}, at {} heads of dim {}.",
                                  plan.request.width, plan.request.token_dim, rounded(plan.best_equal.paper),
                                  plan.best_equal.heads, plan.best_equal.head_dim),
                      "heads", "bound on the error, in units of B");
  Layer paper = line("paper's bound", category(0), 0), sharper = line("sharper bound", category(1), 1);
  for (const EqualHeads& equal : plan.equal)
    for (const auto& [layer, bound] : {std::pair(&paper, equal.paper), {&sharper, equal.sharper}})
      layer->marks.push_back(
          {.x = static_cast<double>(equal.heads),
           .y = bound,
           .hover = fmt::format("{} heads of dim {}: {}", equal.heads, equal.head_dim, rounded(bound))});
  Layer nothing = line("no heads", Colour::muted, 2);
  nothing.points = false;
  for (const EqualHeads* end : {&plan.equal.front(), &plan.equal.back()})
    nothing.marks.push_back({.x = static_cast<double>(end->heads), .y = plan.nothing});
  plot.layers = {std::move(sharper), std::move(paper), std::move(nothing)};
  fit_axes(plot, Scale::linear);
  return plot;
}

Plot fit_plot(const StudyFit& fit) {
  Plot plot =
      plot_of("plan-fit", "What the study measured, and the bound scaled to it",
              fmt::format("RMS error at every number of equal heads: measured best at {}, the fit's best at {}.",
                          fit.measured_best, fit.fitted_best),
              "heads", "RMS error / token");
  plot.layers = {line("measured", category(0), 0), line("fit", category(1), 1)};
  for (const StudyFit::Point& point : fit.points)
    for (const auto& [layer, value] : {std::pair(&plot.layers[0], point.measured), {&plot.layers[1], point.fitted}})
      if (value > 0)
        layer->marks.push_back({.x = static_cast<double>(point.heads),
                                .y = value,
                                .hover = fmt::format("{}, {} heads: {}", layer->legend, point.heads, rounded(value))});
  fit_axes(plot, Scale::log10);
  return plot;
}

Plot cost_plot(const CostPlan& plan) {
  Plot plot =
      plot_of("plan-cost", "Cost against the width of heads, beside the model's own",
              "Parameters, FLOPs per token, cache and training memory at every head width, over the model's own.",
              "head dim", "times the model as given");
  const auto given = std::find_if(plan.rows.begin(), plan.rows.end(), [](const CostRow& row) { return row.is_model; });
  const CostRow& own = given == plan.rows.end() ? plan.rows.back() : *given;
  const auto add = [&](const char* legend, const auto& value) {
    Layer& layer = plot.layers.emplace_back(line(legend, category(plot.layers.size()), 0));
    for (const CostRow& each : plan.rows) {
      const double times = value(each.costs) / value(own.costs);
      layer.marks.push_back({.x = static_cast<double>(each.head_dim),
                             .y = times,
                             .hover = fmt::format("{}, head dim {}: {:.3g}", legend, each.head_dim, times)});
    }
  };
  add("parameters", [](const tasks::ModelCosts& c) { return static_cast<double>(c.parameters); });
  add("FLOPs per token", [](const tasks::ModelCosts& c) { return c.forward_flops; });
  add("KV cache", [](const tasks::ModelCosts& c) { return c.kv_bytes; });
  add("training memory", [](const tasks::ModelCosts& c) { return c.train_bytes(false); });
  fit_axes(plot, Scale::linear);
  return plot;
}

/// What each kind of number on the page rests on.
Block basis_section(const Blocks& page) {
  Blocks items;
  for (const auto& [word, meaning] : basis_words(true))
    if (mentions(page, word)) items.push_back(item({{.text = word, .is_strong = true}, {": " + meaning}}));
  return section("What the numbers are based on", std::move(items));
}

/// How the bound would split the width; folded away where trained models answer.
Block allocation_section(const AllocationPlan& plan, bool is_answer) {
  Blocks parts{
      paragraph(allocation_headline(plan)),
      figure(tradeoff_plot(plan),
             "Equal heads at their best split over lags; B bounds the tokens. Where the sharper bound is not seen it "
             "is the paper's. The rise of the paper's bound on the right is an artefact of its proof: heads of one "
             "lag may take different coordinates, and the sharper bound stays flat.")};
  append_tables(parts, allocation_tables(plan));
  if (const std::vector<StudyFit>& fits = plan.request.fits; !fits.empty()) {
    parts.push_back(figure(fit_plot(fits[0]), fit_text(fits[0])));
    append_tables(parts, fit_tables(fits));
  }
  parts.push_back(paragraph(flatness_text(plan)));
  if (is_answer) return section("How to split the width", std::move(parts));
  return fold("How the paper’s bound, a heuristic, would split the width", std::move(parts));
}

Block cost_section(const CostPlan& plan) {
  Blocks parts{paragraph(cost_headline(plan))};
  if (plan.rows.size() > 1)
    parts.push_back(figure(cost_plot(plan), "Counts at each head width, over those of the model as given."));
  append_tables(parts, cost_tables(plan));
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

std::string choice_name(const HeadChoice& choice) {
  return choice.study + (choice.series.empty() ? "" : ", " + choice.series);
}

bool has_interval(const HeadChoice::Option& option) { return std::isfinite(option.low) && std::isfinite(option.high); }

/// Every number of heads of one curve.
PlanTable options_table(const HeadChoice& choice) {
  // In the order of Standing.
  static const char* const standings[] = {"best on validation", "as good", "worse", "not decided"};
  Cells cells = {{"heads", "width of each", "times the best", "interval", "standing"}};
  for (const HeadChoice::Option& o : choice.options)
    cells.push_back({exact(o.heads), exact(o.v_dim), rounded(o.ratio),
                     has_interval(o) ? fmt::format("{} – {}", rounded(o.low), rounded(o.high)) : "—",
                     standings[static_cast<size_t>(o.standing)]});
  return {.name = choice_name(choice), .cells = std::move(cells)};
}

/// Each curve over its best.
Plot measured_plot(const std::string& task, const std::vector<HeadChoice>& measured) {
  Plot plot =
      plot_of("plan-measured", "Times the best against the number of heads: " + task,
              "Of each curve, every number of heads over the best one.", "heads", "times the best of its curve");
  for (const HeadChoice& one : measured) {
    const size_t at = plot.layers.size();
    Layer& layer = plot.layers.emplace_back(line(choice_name(one), category(at), static_cast<int>(at / kCategories)));
    for (const HeadChoice::Option& o : one.options)
      // The best is what the others are measured by: its own interval has no width.
      layer.marks.push_back({.x = o.heads,
                             .y = o.ratio,
                             .low = has_interval(o) ? o.low : o.ratio * (1 - 1e-9),
                             .high = has_interval(o) ? o.high : o.ratio * (1 + 1e-9),
                             .hover = fmt::format("{}, {} heads of width {}: {} times the best", layer.legend,
                                                  exact(o.heads), exact(o.v_dim), rounded(o.ratio))});
  }
  fit_axes(plot, Scale::log10);
  return plot;
}

/// The curves that an answer rests on, as a figure and as tables.
Block measured_section(const std::string& of, const std::vector<HeadChoice>& measured) {
  Blocks parts{figure(measured_plot(of, measured),
                      "Test metric over that of the number of heads that validation prefers, means over seeds, with "
                      "95 % intervals.")};
  for (const HeadChoice& one : measured) append(parts, table_blocks(options_table(one)));
  return section("What was measured", std::move(parts));
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
                     const std::optional<AllocationPlan>& allocation, const std::optional<CostPlan>& costs,
                     const std::vector<HeadChoice>& measured) {
  Document page = empty_page("");
  if (answer) append(page.blocks, answer_blocks(*answer));
  if (!measured.empty()) page.blocks.push_back(measured_section("this sum of earlier tokens", measured));
  if (allocation) page.blocks.push_back(allocation_section(*allocation, measured.empty()));
  if (costs && !allocation) append(page.blocks, answer_blocks(usual_answer(*costs)));
  if (costs) page.blocks.push_back(cost_section(*costs));
  page.blocks.push_back(basis_section(page.blocks));
  write_page(path, page);
}

void write_measured_page(const std::filesystem::path& path, const std::string& task,
                         const std::vector<HeadChoice>& measured, const std::vector<PlanAnswer>& answers) {
  Document page = empty_page(" --for " + task);
  for (const PlanAnswer& answer : answers) append(page.blocks, answer_blocks(answer));
  page.blocks.push_back(measured_section(task, measured));
  write_page(path, page);
}

}  // namespace headroom::experiments
