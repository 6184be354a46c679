#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/tools/plan/model_config.h"
#include "experiments/tools/plan/plan_tables.h"
#include "tasks/theory/model_costs.h"

namespace headroom::experiments {

/// The speeds that a roofline rests on.
struct Machine {
  std::string name, title;
  tasks::Ceilings f32, half;  ///< for 4-byte and for 2-byte numbers
  double memory = 0;          ///< bytes; 0: not known
  bool is_measured = false;   ///< here and now; else from the maker's data sheet
};

/// One of the machines that `--on` knows, by name in any case: dense matrix products without sparsity, as their makers'
/// data sheets give them. Throws Error naming --on and all of them.
const Machine& machine_named(const std::string& name);

/// Bytes per second of a copy by all threads between two blocks of so many, each byte read and written.
double measured_bandwidth(int64_t bytes = int64_t{1} << 28);

/// This one: measured_peak() and a copy of memory that no cache holds, about a second together. Two-byte numbers have
/// no faster products here, but half the bytes.
Machine measure_this_machine();

/// What `headroom plan` is asked about a model.
struct CostRequest {
  PlanModel model;
  int64_t context = 0, batch = 1;
  std::string dtype = "bf16";      ///< f32, bf16 or f16
  std::vector<int64_t> head_dims;  ///< looked at in place of the model's own; empty: powers of two around it
  bool keep_width = false;         ///< narrower heads become more, so that heads × head_dim stays; else heads stay
  Machine machine;

  const tasks::Ceilings& ceilings() const { return dtype == "f32" ? machine.f32 : machine.half; }
};

/// One head width.
struct CostRow {
  int64_t heads = 0, kv_heads = 0, head_dim = 0;
  tasks::ModelCosts costs;
  tasks::RooflineTimes times;
  bool is_model = false;  ///< the model as it was given
};

struct CostPlan {
  CostRequest request;
  std::vector<CostRow> rows;  ///< from narrow to wide
};

/// Head widths from the command line: "32,64" or "16:128" or "16:128:16" (from, to, step; without a step, doubling).
/// Throws Error naming --head-dims.
std::vector<int64_t> parse_head_dims(const std::string& text);

/// Counts the model at every head width. Throws Error naming the argument that is wrong.
CostPlan plan_costs(const CostRequest& request);

/// The parts of both the terminal's tables and the page. The answer says what heads of half the model's width would
/// cost, in multiples of what the model does; "" where they are not among the rows.
std::string cost_answer(const CostPlan& plan);
std::string cost_headline(const CostPlan& plan);
std::vector<PlanTable> cost_tables(const CostPlan& plan);
std::string machine_text(const CostPlan& plan);

nlohmann::ordered_json cost_json(const CostPlan& plan);
std::string cost_text(const CostPlan& plan, size_t columns = 0);

}  // namespace headroom::experiments
