#include "experiments/config/trial_config.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

namespace headroom::experiments {
namespace {

using nlohmann::json;

/// Part of every id: raised when the same config no longer gives the same numbers, so that old trials are run again.
constexpr const char* code_version = "trial 2";

json to_json(const tasks::LinearFunctionalConfig& task) {
  return {{"kind", "linear-functional"},           {"kernel", {{"kind", task.kernel.kind}, {"n", task.kernel.n}}},
          {"token_dim", task.token_dim},           {"length", task.length},
          {"first_position", task.first_position}, {"input", static_cast<int>(task.input)}};
}

json to_json(const models::TransformerConfig& model) {
  json groups = json::array();
  for (const models::HeadGroup& group : model.groups)
    groups.push_back(
        {{"heads", group.heads}, {"qk_dim", group.qk_dim}, {"v_dim", group.v_dim}, {"kv_heads", group.kv_heads}});
  return {{"layers", model.layers},
          {"width", model.width},
          {"groups", groups},
          {"tied", model.tied},
          {"pooling", static_cast<int>(model.pooling)},
          {"causal", model.causal},
          {"positions", static_cast<int>(model.positions)},
          {"rope_base", model.rope_base},
          {"alibi_slopes", {model.alibi_slope_first, model.alibi_slope_last}},
          {"norm", static_cast<int>(model.norm)},
          {"norm_place", static_cast<int>(model.norm_place)},
          {"final_norm", model.final_norm},
          {"norm_eps", model.norm_eps},
          {"ffn_width", model.ffn_width},
          {"activation", static_cast<int>(model.activation)},
          {"attention_bias", model.attention_bias},
          {"ffn_bias", model.ffn_bias},
          {"dropout", model.dropout},
          {"logit_scale", model.logit_scale ? json(*model.logit_scale) : json()},
          {"init",
           {{"scheme", static_cast<int>(model.init.scheme)},
            {"std", model.init.std},
            {"embedding_std", model.init.embedding_std},
            {"position_std", model.init.position_std}}}};
}

json to_json(const TrainConfig& train) {
  json schedule = json::array();
  for (const autograd::ScheduleConfig& factor : train.schedule) {
    schedule.push_back({{"kind", factor.kind},
                        {"warmup", factor.warmup},
                        {"steps", factor.steps},
                        {"start", factor.start},
                        {"final_factor", factor.final_factor},
                        {"factor", factor.factor},
                        {"patience", factor.patience},
                        {"threshold", factor.threshold}});
  }
  const autograd::OptimizerConfig& optimizer = train.optimizer;
  return {{"steps", train.steps},
          {"batch", train.batch},
          {"optimizer",
           {{"kind", optimizer.kind},
            {"lr", optimizer.lr},
            {"beta1", optimizer.beta1},
            {"beta2", optimizer.beta2},
            {"eps", optimizer.eps},
            {"weight_decay", optimizer.weight_decay},
            {"momentum", optimizer.momentum},
            {"nesterov", optimizer.nesterov}}},
          {"schedule", schedule},
          {"clip", train.clip},
          {"eval_every", train.eval_every},
          {"eval_sequences", train.eval_sequences},
          {"judged", static_cast<int>(train.judged)}};
}

}  // namespace

std::string canonical_json(const tasks::TaskConfig& task) {
  return std::visit([](const auto& config) { return to_json(config).dump(); }, task);
}

std::string canonical_json(const TrialConfig& config) {
  return json{{"task", std::visit([](const auto& task) { return to_json(task); }, config.task)},
              {"model", to_json(config.model)},
              {"train", to_json(config.train)},
              {"seed", config.seed}}
      .dump();
}

std::string trial_id(const TrialConfig& config) {
  // FNV-1a (Fowler, Noll & Vo), 128 bits.
  __extension__ using Wide = unsigned __int128;
  constexpr Wide prime = (Wide{1} << 88) + 0x13b;
  Wide hash = (Wide{0x6c62272e07bb0142} << 64) + 0x62b821756295c58d;
  for (const char c : code_version + canonical_json(config)) {
    hash ^= static_cast<unsigned char>(c);
    hash *= prime;
  }
  return fmt::format("{:016x}{:016x}", static_cast<uint64_t>(hash >> 64), static_cast<uint64_t>(hash));
}

}  // namespace headroom::experiments
