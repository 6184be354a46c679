#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "experiments/output/units.h"
#include "experiments/tools/plan/cost_plan.h"

namespace headroom::experiments {
namespace {

using Json = nlohmann::ordered_json;

Json row_json(const CostRow& row) {
  const tasks::ModelCosts& c = row.costs;
  const tasks::RooflineTimes& t = row.times;
  return {{"head_dim", row.head_dim},
          {"heads", row.heads},
          {"kv_heads", row.kv_heads},
          {"is_given", row.is_model},
          {"parameters", c.parameters},
          {"forward_flops_per_token", c.forward_flops},
          {"backward_flops_per_token", c.backward_flops},
          {"kv_cache_bytes_per_token", c.kv_bytes},
          {"activation_bytes", c.activation_bytes},
          {"activation_bytes_recompute", c.recompute_bytes},
          {"score_bytes", c.score_bytes},
          {"weight_bytes", c.weight_bytes},
          {"gradient_bytes", c.gradient_bytes},
          {"optimizer_bytes", c.optimizer_bytes},
          {"train_bytes", c.train_bytes(false)},
          {"train_bytes_recompute", c.train_bytes(true)},
          {"prefill_seconds", t.prefill},
          {"decode_seconds", t.decode},
          {"train_step_seconds", t.train_step},
          {"train_step_seconds_recompute", t.train_step_recompute}};
}

}  // namespace

std::vector<PlanTable> cost_tables(const CostPlan& plan) {
  Cells counts = {{"head dim", "heads", "KV heads", "parameters", "forward/token", "backward/token", "KV cache/token"}};
  Cells memory = {
      {"head dim", "weights", "gradients", "AdamW", "activations", "with recompute", "training", "with recompute"}};
  Cells times = {{"head dim", "prefill", "next token", "training step", "with recompute"}};
  for (const CostRow& row : plan.rows) {
    const tasks::ModelCosts& c = row.costs;
    const tasks::RooflineTimes& t = row.times;
    const std::string dim = std::to_string(row.head_dim);
    counts.push_back({dim + (row.is_model ? " *" : ""), std::to_string(row.heads), std::to_string(row.kv_heads),
                      count_text(static_cast<double>(c.parameters)), count_text(c.forward_flops) + "FLOP",
                      count_text(c.backward_flops) + "FLOP", bytes_text(c.kv_bytes)});
    memory.push_back({dim, bytes_text(c.weight_bytes), bytes_text(c.gradient_bytes), bytes_text(c.optimizer_bytes),
                      bytes_text(c.activation_bytes), bytes_text(c.recompute_bytes), bytes_text(c.train_bytes(false)),
                      bytes_text(c.train_bytes(true))});
    times.push_back({dim, seconds_text(t.prefill), seconds_text(t.decode), seconds_text(t.train_step),
                     seconds_text(t.train_step_recompute)});
  }
  return {{"Counts", "counts (* the model as given)", counts, "* the model as given"},
          {"Memory of training", "memory of training (counts; activations: a guess at what a fused attention keeps)",
           memory, "Counts; activations are a guess at what a fused attention keeps."},
          {"Least time", "least time (lower bound)", times, "A lower bound."}};
}

std::string cost_answer(const CostPlan& plan) {
  const auto find = [&](auto holds) { return std::find_if(plan.rows.begin(), plan.rows.end(), holds); };
  const auto model = find([](const CostRow& row) { return row.is_model; });
  if (model == plan.rows.end()) return "";
  const auto half = find([&](const CostRow& row) { return 2 * row.head_dim == model->head_dim; });
  if (half == plan.rows.end()) return "";
  const tasks::ModelCosts &now = half->costs, &before = model->costs;
  return fmt::format(
      "heads {} wide in place of {}: {:.2f} times the parameters, {:.2f} times the FLOPs forward, {:.2f} times the "
      "key-value cache. These are costs; headroom compress measures what a trained model loses with narrower heads",
      half->head_dim, model->head_dim, static_cast<double>(now.parameters) / static_cast<double>(before.parameters),
      now.forward_flops / before.forward_flops, now.kv_bytes / before.kv_bytes);
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
  const tasks::Ceilings& ceilings = plan.request.ceilings();
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
  return cost_headline(plan) + "\n" + tables_text(cost_tables(plan), columns) + machine_text(plan) + "\n";
}

Json cost_json(const CostPlan& plan) {
  const CostRequest& request = plan.request;
  const models::TransformerConfig& model = request.model.config;
  const Machine& machine = request.machine;
  Json out = {{"model",
               {{"source", request.model.source},
                {"layers", model.layers},
                {"width", model.width},
                {"ffn_width", models::first_layer(model).ffn_width},
                {"vocab", model.vocab}}},
              {"context", request.context},
              {"batch", request.batch},
              {"dtype", request.dtype},
              {"keep", request.keep_width ? "width" : "heads"},
              {"machine",
               {{"name", machine.name},
                {"title", machine.title},
                {"flops", request.ceilings().flops},
                {"bandwidth", request.ceilings().bandwidth},
                {"memory", machine.memory},
                {"status", machine.is_measured ? "measured" : "data sheet"}}},
              {"status",
               {{"parameters", "count"},
                {"flops", "count"},
                {"kv_cache", "count"},
                {"optimizer", "count"},
                {"activations", "guess"},
                {"seconds", "lower bound"}}},
              {"rows", Json::array()}};
  for (const CostRow& row : plan.rows) out["rows"].push_back(row_json(row));
  return out;
}

}  // namespace headroom::experiments
