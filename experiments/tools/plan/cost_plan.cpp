#include "experiments/tools/plan/cost_plan.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "engine/read_number.h"
#include "experiments/tools/plan/decay.h"
#include "models/positions.h"

namespace headroom::experiments {
namespace {

constexpr int64_t widest_head = 1 << 20;
constexpr int64_t most_tokens = int64_t(1) << 40;
constexpr size_t most_rows = 1024;

int64_t parse_dim(std::string_view text) {
  const auto value = read_number<int64_t>(text, 1, widest_head);
  require(value.has_value(), "--head-dims: \"{}\": expected an integer from 1 to {}", excerpt(text, 40), widest_head);
  return *value;
}

/// Powers of two from 8 to twice the model's own, and that one.
std::vector<int64_t> dims_around(int64_t own) {
  std::set<int64_t> dims{own};
  for (int64_t dim = 8; dim <= 2 * own; dim *= 2) dims.insert(dim);
  return {dims.begin(), dims.end()};
}

/// The model's heads with another width.
models::HeadGroup heads_of_width(const CostRequest& request, int64_t dim) {
  const std::vector<models::HeadGroup>& own = request.model.config.groups;
  require(own.size() == 1, "--head-dims: the model has heads of {} shapes: expected one", own.size());
  models::HeadGroup group = own[0];
  if (request.keep_width) {
    const int64_t values = group.heads * group.v_dim, shared = group.key_value_heads() * group.v_dim;
    require(values % dim == 0 && shared % dim == 0,
            "--head-dims: {} does not divide both the heads' {} and key-value heads' {} columns, which --keep width "
            "keeps",
            dim, values, shared);
    group.heads = values / dim;
    group.kv_heads = shared == values ? 0 : shared / dim;
  }
  group.qk_dim = group.v_dim = dim;
  require(!models::scheme_of(request.model.config).turns() || dim % 2 == 0, "--head-dims: {} is odd: RoPE turns pairs",
          dim);
  return group;
}

}  // namespace

std::vector<int64_t> parse_head_dims(const std::string& text) {
  std::set<int64_t> dims;
  const auto ends = parts_of_list(text, ':');
  if (ends.size() == 1) {
    for (const std::string& part : parts_of_list(text, ',')) dims.insert(parse_dim(part));
    return {dims.begin(), dims.end()};
  }
  require(ends.size() <= 3, "--head-dims: \"{}\": expected FROM:TO or FROM:TO:STEP", text);
  const int64_t first = parse_dim(ends[0]), last = parse_dim(ends[1]);
  const int64_t step = ends.size() == 3 ? parse_dim(ends[2]) : 0;
  require(first <= last, "--head-dims: \"{}\": expected FROM <= TO", text);
  for (int64_t dim = first; dim <= last; dim = step > 0 ? dim + step : 2 * dim) {
    dims.insert(dim);
    require(dims.size() <= most_rows, "--head-dims: \"{}\" are more than {} widths", text, most_rows);
  }
  return {dims.begin(), dims.end()};
}

CostPlan plan_costs(const CostRequest& request) {
  const models::TransformerConfig& own = request.model.config;
  require(own.unequal_layers.empty() && !models::has_factored_heads(models::first_layer(own)),
          "{}: its heads are factors, or differ: plan takes the model that it was made from", request.model.source);
  require(request.batch >= 1 && request.batch <= most_tokens, "--batch: expected 1 to {}, got {}", most_tokens,
          request.batch);
  require(request.context >= 1 && request.context <= most_tokens, "--context: expected 1 to {}, got {}", most_tokens,
          request.context);
  require(!models::scheme_of(own).is_learned() || request.context <= own.max_length,
          "--context: {} is longer than the model's {} learned positions", request.context, own.max_length);
  require(request.dtype == "f32" || request.dtype == "bf16" || request.dtype == "f16",
          "--dtype: expected f32, bf16 or f16, got \"{}\"", request.dtype);
  const int64_t bytes = request.dtype == "f32" ? 4 : 2;
  std::vector<int64_t> dims = request.head_dims;
  const bool is_one_shape = own.groups.size() == 1 && own.groups[0].qk_dim == own.groups[0].v_dim;
  if (dims.empty() && is_one_shape) {
    dims = dims_around(own.groups[0].qk_dim);
    if (request.keep_width) {
      const int64_t shared = own.groups[0].key_value_heads() * own.groups[0].v_dim;
      std::erase_if(dims, [&](int64_t dim) { return shared % dim != 0; });
    }
  }
  CostPlan plan{.request = request, .rows = {}};
  const auto add = [&](const models::TransformerConfig& model) {
    CostRow row;
    row.costs = tasks::model_costs(model, request.batch, request.context, tasks::widths_of(bytes));
    const models::LayerConfig first = models::first_layer(model);
    for (const models::HeadGroup& group : first.groups) {
      row.heads += group.heads;
      row.kv_heads += group.key_value_heads();
    }
    row.head_dim = first.groups[0].v_dim;
    row.is_model = model.groups == own.groups;
    row.times = tasks::roofline(row.costs, request.batch, request.context, request.ceilings());
    plan.rows.push_back(row);
  };
  if (dims.empty()) add(own);
  for (const int64_t dim : dims) {
    models::TransformerConfig model = own;
    model.groups = {heads_of_width(request, dim)};
    add(model);
  }
  return plan;
}

}  // namespace headroom::experiments
