#include "tasks/compression/compress.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace headroom::tasks {
namespace {

using Of = Allowance::Of;

/// The pieces of some layers.
struct PiecesToGo {
  std::shared_ptr<const HeadRemoval> removal;
  std::shared_ptr<RemovalOrder> order;  ///< in which they go; none where the seed draws
};

CalibrationNeeds needs_of(const CompressionRequest& request, const models::TransformerConfig& config) {
  const CompressionPlan& plan = request.plan;
  if (request.removed) return {.whole_outputs = request.refits_output};
  return request.allowance.names_formats() ? cache_budget_needs(plan.qk, plan.vo, config) : needs_of(plan.qk, plan.vo);
}

double share_of(int64_t done, int64_t all) { return static_cast<double>(done) / static_cast<double>(all); }

/// One request, step by step.
class Compressor {
 public:
  Compressor(StudiedModel& model, const CompressionRequest& request, engine::Device device,
             const CompressionProgress& progress)
      : model_(model), request_(request), device_(device), progress_(progress) {}

  std::shared_ptr<const CacheBudget> cache() const {
    constexpr double late = 0.25;  // of each text: what the readout costs would otherwise be most of the time
    return model_.once<CacheBudget>(key(fmt::format("cache measured on {}", request_.format_tokens)), [&] {
      const int64_t length = std::min(request_.context, request_.format_tokens);
      const auto told = [&](int64_t done, int64_t all, double share) {
        tell(fmt::format("budget: loss {} of {} measured", done, all), share);
      };
      return CacheBudget(heads(), probe(length, request_.format_tokens, late), told, request_.kept.get());
    });
  }

  void narrow(Compressed& out) const {
    out.plan = plan();
    if (needs().any()) {
      const models::HeadGroup head = models::first_layer(config()).groups.at(0);
      out.shortage = calibration()->shortage(std::max(head.qk_dim, head.v_dim));
    }
    if (request_.allowance.names_formats()) spend_cache(out);
    else if (request_.allowance.is_measured()) out.plan = bought();
    out.edit = heads()->edit(out.plan);
  }

  void remove(Compressed& out) const {
    const Allowance& allowance = request_.allowance;
    const auto measured = pieces();
    const HeadRemoval& removal = *measured->removal;
    out.plan = plan();
    out.pieces = std::ssize(removal.pieces());
    if (allowance.of == Of::kl) {
      out.removed = measured->order->within(allowance.value);
    } else {
      const int64_t count = removal.count_beside(allowance.value);
      out.removed = measured->order ? measured->order->first(count) : drawn(removal, count, request_.seed);
    }
    std::sort(out.removed.begin(), out.removed.end());
    const auto refit = request_.refits_output ? calibration() : nullptr;
    out.edit =
        request_.keeps_shapes ? removal.silenced(out.removed, refit.get()) : removal.edit(out.removed, refit.get());
  }

  void refine(Compressed& out) const {
    RefineConfig training = *request_.refinement;
    training.bos = model_.description().text_begin();
    Refined refined = tasks::refine(
        model_.unpacked(device_), out.edit, request_.refinement_text, training, [&](int64_t step, double loss) {
          tell(fmt::format("refinement: step {} of {}, loss {:.4g}", step, training.steps, loss),
               share_of(step, training.steps));
        });
    out.edit = std::move(refined.edit);
    out.refinement = {refined.first_loss, refined.last_loss, refined.trained};
  }

 private:
  const CompressionPlan& plan() const { return request_.plan; }
  const models::TransformerConfig& config() const { return model_.description().config; }
  void tell(const std::string& what, double share) const {
    if (progress_) progress_(what, share);
  }
  std::set<int64_t> layers_apart() const { return request_.serves_others ? std::set<int64_t>() : request_.layers; }
  std::string text_key() const {
    return fmt::format("{} {} {}", request_.calibration_name, request_.context, device_.str());
  }
  /// Tells apart what requests have measured.
  std::string key(const std::string& what) const {
    return fmt::format("{} {} {} of {} by {}", what, name_of(plan().qk), name_of(plan().vo),
                       fmt::join(request_.layers, ","), text_key());
  }
  TokenBatch texts(int64_t length) const {
    return pieces_of(request_.calibration, 0, std::ssize(request_.calibration), length,
                     model_.description().text_begin());
  }
  std::shared_ptr<const LayerProbe> probe(int64_t length, int64_t tokens = probed_tokens, double late = 1) const {
    return std::make_shared<LayerProbe>(model_.unpacked(device_), probed_texts(texts(length), length, tokens), late);
  }

  CalibrationNeeds needs() const {
    const CalibrationNeeds own = needs_of(request_, config());
    if (!own.any() || !request_.serves_others || request_.removed) return own;
    return own | CalibrationNeeds{.before_turn = true, .after_turn = true, .outputs = true};
  }
  std::shared_ptr<const Calibration> calibration() const {
    const CalibrationNeeds needs = this->needs();
    if (!needs.any()) return std::make_shared<Calibration>();
    const std::string made =
        fmt::format("calibration {:d}{:d}{:d}{:d}{:d} of {} by {}", needs.before_turn, needs.after_turn, needs.outputs,
                    needs.joined, needs.whole_outputs, fmt::join(layers_apart(), ","), text_key());
    return model_.once<Calibration>(made, [&] {
      const auto read = [&](int64_t done, int64_t all) {
        tell(fmt::format("calibration: layer {} of {}", done, all), share_of(done, all));
      };
      return calibrate(model_.transformer(device_), texts(request_.context),
                       {.needs = needs, .layers = layers_apart(), .progress = read});
    });
  }
  std::shared_ptr<const HeadDecompositions> heads() const {
    const std::string made = fmt::format("decompositions {} {} of {} by {}", name_of(plan().qk), name_of(plan().vo),
                                         fmt::join(layers_apart(), ","), needs().any() ? text_key() : "");
    return model_.once<HeadDecompositions>(made, [&] {
      return HeadDecompositions(config(), *model_.weights(), plan().qk, plan().vo, *calibration(), layers_apart());
    });
  }

  /// The plan that an allowance of ranks alone buys.
  CompressionPlan bought() const {
    const auto budget = model_.once<HeadBudget>(key("measured heads"), [&] {
      const auto told = [&](int64_t done, int64_t all, double share) {
        tell(fmt::format("budget: head {} of {} measured", done, all), share);
      };
      return HeadBudget(heads(), probe(request_.context), request_.layers, told, request_.kept.get());
    });
    const HeadCosts& costs = budget->costs();
    const auto& [of, value] = request_.allowance;
    const BudgetOf saved = of == Of::parameters ? BudgetOf::parameters
                           : of == Of::cache    ? BudgetOf::cache
                                                : costs.saved();
    if (of == Of::kl) return budget->within(saved, value);
    return budget->spend(saved, of == Of::same_cost ? costs.cost(saved, plan()) : value * costs.full(saved));
  }
  void spend_cache(Compressed& out) const {
    const Allowance& allowance = request_.allowance;
    const auto measured = cache();
    const CacheBudget& budget = *measured;
    MeasuredPlan bought = allowance.of == Of::cache_kl      ? budget.within(allowance.value)
                          : allowance.of == Of::cache_tried ? accepted(budget)
                                                            : budget.spend(allowance.bytes(budget.full()));
    out.cache = {budget.bytes(bought.plan), budget.full(), budget.expected_kl(bought.plan), bought.kl};
    out.plan = std::move(bought.plan);
  }
  MeasuredPlan accepted(const CacheBudget& budget) const {
    constexpr int steps = 7;
    int step = 0;
    const auto is_accepted = [&](const MeasuredPlan& tried) {
      const int64_t bytes = budget.bytes(tried.plan);
      tell(fmt::format("search: {} bytes a token, try {} of {}", bytes, step + 1, steps), share_of(step, steps));
      ++step;
      return request_.accepts(tried, heads()->edit(tried.plan), bytes);
    };
    if (auto best = budget.smallest(is_accepted, steps)) return *std::move(best);
    return budget.measured(*budget.plain(engine::BlockFormat::f16));
  }
  std::shared_ptr<const PiecesToGo> pieces() const {
    const Allowance& allowance = request_.allowance;
    const std::string what = name_of(*request_.removed);
    return model_.once<PiecesToGo>(key((allowance.is_measured() ? "measured " : "pieces of ") + what), [&] {
      PiecesToGo out;
      out.removal = std::make_shared<HeadRemoval>(config(), *model_.weights(), *request_.removed, request_.layers);
      if (!allowance.is_measured()) return out;
      const int64_t all = std::ssize(out.removal->pieces());
      const auto told = [progress = progress_, what, all](int64_t gone, int64_t measured, double share) {
        if (progress)
          progress(fmt::format("removal: {} of {} {} gone, {} measured since", gone, all, what, measured), share);
      };
      out.order =
          std::make_shared<RemovalOrder>(out.removal, probe(request_.context, removal_tokens), told, request_.kept);
      return out;
    });
  }

  StudiedModel& model_;
  const CompressionRequest& request_;
  engine::Device device_;
  const CompressionProgress& progress_;
};

}  // namespace

std::vector<std::string> steps_of(const CompressionRequest& request, const models::TransformerConfig& config) {
  std::vector<std::string> steps;
  const bool is_measured = request.allowance.is_measured();
  if (needs_of(request, config).any()) steps.emplace_back("calibration");
  if (is_measured) steps.emplace_back(request.removed ? "removal" : "budget");
  if (request.allowance.of == Of::cache_tried) steps.emplace_back("search");
  if (request.refinement) steps.emplace_back("refinement");
  return steps;
}

Compressed compress(StudiedModel& model, const CompressionRequest& request, engine::Device device,
                    const CompressionProgress& progress) {
  const Compressor compressor(model, request, device, progress);
  Compressed out;
  if (request.removed) compressor.remove(out);
  else compressor.narrow(out);
  if (request.refinement) compressor.refine(out);
  return out;
}

std::shared_ptr<const CacheBudget> cache_budget(StudiedModel& model, const CompressionRequest& request,
                                                engine::Device device, const CompressionProgress& progress) {
  return Compressor(model, request, device, progress).cache();
}

}  // namespace headroom::tasks
