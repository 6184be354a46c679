#include <fmt/format.h>

#include <algorithm>

#include "experiments/output/number.h"
#include "experiments/output/units.h"
#include "experiments/tools/plan/cost_plan.h"

namespace headroom::experiments {

Cells count_cells(const CostPlan& plan) {
  Cells rows = {{"head dim", "heads", "KV heads", "parameters", "forward/token", "backward/token", "KV cache/token"}};
  for (const CostRow& row : plan.rows)
    rows.push_back({fmt::format("{}{}", row.head_dim, row.is_model ? " *" : ""), std::to_string(row.heads),
                    std::to_string(row.kv_heads), count_text(static_cast<double>(row.costs.parameters)),
                    count_text(row.costs.forward_flops) + "FLOP", count_text(row.costs.backward_flops) + "FLOP",
                    bytes_text(row.costs.kv_bytes)});
  return rows;
}

Cells memory_cells(const CostPlan& plan) {
  Cells rows = {
      {"head dim", "weights", "gradients", "AdamW", "activations", "with recompute", "training", "with recompute"}};
  for (const CostRow& row : plan.rows) {
    const tasks::ModelCosts& c = row.costs;
    rows.push_back({std::to_string(row.head_dim), bytes_text(c.weight_bytes), bytes_text(c.gradient_bytes),
                    bytes_text(c.optimizer_bytes), bytes_text(c.activation_bytes), bytes_text(c.recompute_bytes),
                    bytes_text(c.train_bytes(false)), bytes_text(c.train_bytes(true))});
  }
  return rows;
}

Cells time_cells(const CostPlan& plan) {
  Cells rows = {{"head dim", "prefill", "next token", "training step", "with recompute"}};
  for (const CostRow& row : plan.rows)
    rows.push_back({std::to_string(row.head_dim), seconds_text(row.times.prefill), seconds_text(row.times.decode),
                    seconds_text(row.times.train_step), seconds_text(row.times.train_step_recompute)});
  return rows;
}

std::string cost_answer(const CostPlan& plan) {
  const auto find = [&](auto holds) { return std::find_if(plan.rows.begin(), plan.rows.end(), holds); };
  const auto model = find([](const CostRow& row) { return row.is_model; });
  if (model == plan.rows.end()) return "";
  const auto half = find([&](const CostRow& row) { return 2 * row.head_dim == model->head_dim; });
  if (half == plan.rows.end()) return "";
  const auto times = [](double now, double before) { return fmt::format("{:.2f} times", now / before); };
  return fmt::format(
      "heads {} wide in place of {}: {} the parameters, {} the FLOPs forward, {} the key-value cache. These are costs; "
      "headroom compress measures what a trained model loses with narrower heads",
      half->head_dim, model->head_dim,
      times(static_cast<double>(half->costs.parameters), static_cast<double>(model->costs.parameters)),
      times(half->costs.forward_flops, model->costs.forward_flops), times(half->costs.kv_bytes, model->costs.kv_bytes));
}

std::string cost_headline(const CostPlan& plan) {
  const CostRequest& request = plan.request;
  const models::TransformerConfig& model = request.model.config;
  const int64_t ffn = models::first_layer(model).ffn_width;
  return fmt::format("{} · {} layers · width {} · FFN {}{} · vocabulary {}{} · context {} · batch {} · {} · {} kept",
                     request.model.source, model.layers, model.width, ffn,
                     ffn > 0 ? fmt::format(" {}", models::name_of(model.activation)) : "", model.vocab,
                     model.tied ? ", tied" : ", readout of its own", request.context, request.batch, request.dtype,
                     request.keep_width ? "heads × head dim" : "heads");
}

std::string machine_text(const CostPlan& plan) {
  const Machine& machine = plan.request.machine;
  const tasks::Ceilings& ceilings = plan.request.dtype == "f32" ? machine.f32 : machine.half;
  std::string out =
      fmt::format("Machine: {} ({}): {}FLOP/s, {}/s.", machine.title, machine.is_measured ? "measured" : "data sheet",
                  count_text(ceilings.flops), bytes_text(ceilings.bandwidth));
  for (const CostRow& row : plan.rows)
    if (row.is_model && machine.memory > 0 && row.costs.train_bytes(true) > machine.memory)
      out += fmt::format(" Training needs {} even with recompute; it has {}.", bytes_text(row.costs.train_bytes(true)),
                         bytes_text(machine.memory));
  return out;
}

std::string cost_text(const CostPlan& plan, size_t columns) {
  return cost_headline(plan) + "\n\ncounts (* the model as given)\n" + aligned(count_cells(plan), columns) +
         "\nmemory of training (counts; activations: a guess at what a fused attention keeps)\n" +
         aligned(memory_cells(plan), columns) + "\nleast time (lower bound)\n" + aligned(time_cells(plan), columns) +
         machine_text(plan) + "\n";
}

}  // namespace headroom::experiments
