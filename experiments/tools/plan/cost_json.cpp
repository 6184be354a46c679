#include <nlohmann/json.hpp>

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

Json cost_json(const CostPlan& plan) {
  const CostRequest& request = plan.request;
  const models::TransformerConfig& model = request.model.config;
  const tasks::Ceilings& ceilings = request.dtype == "f32" ? request.machine.f32 : request.machine.half;
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
               {{"name", request.machine.name},
                {"title", request.machine.title},
                {"flops", ceilings.flops},
                {"bandwidth", ceilings.bandwidth},
                {"memory", request.machine.memory},
                {"status", request.machine.is_measured ? "measured" : "data sheet"}}},
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
