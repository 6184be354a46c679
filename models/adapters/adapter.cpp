#include "models/adapters/adapter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "engine/context.h"
#include "engine/error.h"
#include "engine/excerpt.h"

namespace headroom::models {
namespace {

/// A part, and where it is in a layer.
struct Part {
  std::string_view name, path;
};
constexpr std::array<Part, 7> parts_of_layer{{{"q", "attention.0.q_proj"},
                                              {"k", "attention.0.k_proj"},
                                              {"v", "attention.0.v_proj"},
                                              {"o", "attention.o_proj"},
                                              {"gate", "ffn.gate"},
                                              {"up", "ffn.up"},
                                              {"down", "ffn.down"}}};

/// A base's weights, some of them with an adapter's term.
class AdaptedWeights : public WeightSource {
 public:
  AdaptedWeights(std::unique_ptr<WeightSource> base, const Adapter& adapter, AdapterUse use)
      : base_(std::move(base)), adapter_(adapter), use_(use) {}
  Weight matrix(const std::string& name, int64_t out, int64_t in, const Draw& draw) override {
    Weight weight = base_->matrix(name, out, in, draw);
    const auto found = adapter_.factors.find(name);
    if (found == adapter_.factors.end()) return weight;
    const auto leaf = [&](const Tensor& factor) {
      return Var(factor.to(dtype()).clone().to(engine::context().device), use_ == AdapterUse::trained);
    };
    return Weight(Adapted{std::make_shared<const Weight>(std::move(weight)), leaf(found->second.a),
                          leaf(found->second.b), adapter_.scale()});
  }
  Var tensor(const std::string& name, const Shape& shape, const Draw& draw) override {
    return base_->tensor(name, shape, draw);
  }
  engine::DType dtype() const override { return base_->dtype(); }
  void finish() const override { base_->finish(); }

 private:
  std::unique_ptr<WeightSource> base_;
  const Adapter& adapter_;
  AdapterUse use_;
};

}  // namespace

int64_t Adapter::parameter_count() const {
  int64_t count = 0;
  for (const auto& [name, pair] : factors) count += pair.a.numel() + pair.b.numel();
  return count;
}

std::vector<std::string> adapter_parts() {
  std::vector<std::string> names;
  for (const Part& part : parts_of_layer) names.emplace_back(part.name);
  return names;
}

std::string adapter_part_of(const std::string& name) {
  const auto found = std::find_if(parts_of_layer.begin(), parts_of_layer.end(), [&](const Part& part) {
    return name.starts_with("blocks.") && name.ends_with(fmt::format(".{}.weight", part.path));
  });
  return found == parts_of_layer.end() ? "" : std::string(found->name);
}

std::string adapted_tensor(const ModelFiles& base, const std::string& name) {
  const std::string theirs = place_of(base.scheme(), name, false).name;
  return base.tensors().contains(theirs) ? theirs : "";
}

void require_adaptable(const ModelFiles& base) {
  require(base.scheme() != NameScheme::headroom,
          "{}: is a compact model, which takes no adapter: convert --format compat first", base.path().string());
  require(!family_named(base.description().family).is_fused(),
          "{}: queries, keys and values are one matrix in files of {}, which takes no adapter here",
          base.path().string(), base.description().family);
}

Adapter drawn_adapter(const ModelFiles& base, int64_t rank, double alpha, const std::vector<std::string>& parts,
                      engine::Rng& rng) {
  require(rank >= 1, "adapter: the rank is {}; expected 1 or more", rank);
  require(std::isfinite(alpha) && alpha > 0, "adapter: alpha is {}; expected a number above 0", alpha);
  require_adaptable(base);
  Adapter adapter{rank, alpha, {}};
  for (const std::string& wanted : parts) {
    const auto* const part = std::find_if(parts_of_layer.begin(), parts_of_layer.end(),
                                          [&](const Part& known) { return known.name == wanted; });
    require(part != parts_of_layer.end(), "adapter: '{}' is no part of a layer; expected some of {}",
            excerpt(wanted, 40), fmt::join(adapter_parts(), ", "));
    require(std::count(parts.begin(), parts.end(), wanted) == 1, "adapter: '{}' is given twice", wanted);
    const size_t before = adapter.factors.size();
    for (int64_t layer = 0; layer < base.description().config.layers; ++layer) {
      const std::string name = fmt::format("blocks.{}.{}.weight", layer, part->path),
                        theirs = adapted_tensor(base, name);
      if (theirs.empty()) continue;
      const Shape shape = base.tensors().shape(theirs);  // (out, in)
      require(rank <= std::min(shape[0], shape[1]), "adapter: rank {} is above what {} {} can have", rank, theirs,
              shape.str());
      const double bound = 1 / std::sqrt(static_cast<double>(shape[1]));
      adapter.factors[name] = {engine::random_uniform({rank, shape[1]}, rng, "adapter", -bound, bound),
                               Tensor::zeros({shape[0], rank})};
    }
    require(adapter.factors.size() > before, "{}: no layer has a matrix '{}'", base.path().string(), wanted);
  }
  return adapter;
}

std::unique_ptr<Transformer> load(const ModelFiles& base, const Adapter& adapter, const TransformerConfig& config,
                                  const LoadOptions& options, AdapterUse use) {
  base.require_run();
  AdaptedWeights source(base.weights(options), adapter, use);
  return std::make_unique<Transformer>(config, source);
}

Adapter trained_adapter(Adapter adapter, const Transformer& model) {
  for (const Parameter& parameter : model.parameters())
    for (auto& [name, pair] : adapter.factors) {
      const bool is_a = parameter.name == name + ".lora_a";
      if (is_a || parameter.name == name + ".lora_b")
        (is_a ? pair.a : pair.b) = parameter.var.value().to(engine::cpu).clone();
    }
  return adapter;
}

ModelEdit merged(const ModelFiles& base, const Adapter& adapter) {
  base.require_run();
  const std::unique_ptr<WeightSource> source = base.weights({});
  ModelEdit edit{base.description().config, {}};
  for (const auto& [name, pair] : adapter.factors) {
    const auto whole = std::make_shared<const Weight>(source->matrix(name, pair.b.dim(0), pair.a.dim(1), {}));
    const Weight sum(Adapted{whole, Var(pair.a), Var(pair.b), adapter.scale()});
    edit.weights.emplace_back(name, sum.values(engine::DType::f32));
  }
  return edit;
}

}  // namespace headroom::models
