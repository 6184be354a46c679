#include "models/write/edited_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/error.h"
#include "engine/ops/concat/concat.h"
#include "engine/ops/elementwise/binary.h"
#include "models/write/full_shape.h"

namespace headroom::models {

namespace {

/// The name prefixes of weights that some layers lack: of their attention, or their feed-forward network.
std::vector<std::string> lacking_in(const TransformerConfig& config) {
  std::vector<std::string> lacking;
  for (size_t i = 0; i < config.unequal_layers.size(); ++i) {
    if (config.unequal_layers[i].groups.empty()) lacking.push_back(fmt::format("blocks.{}.attention", i));
    if (config.unequal_layers[i].ffn_width == 0) lacking.push_back(fmt::format("blocks.{}.ffn", i));
  }
  return lacking;
}

bool is_lacking(const std::vector<std::string>& lacking, NameScheme scheme, const std::string& name) {
  if (lacking.empty() || is_buffer(scheme, name)) return false;
  const std::string ours = renamed(scheme, NameScheme::headroom, name);
  return std::any_of(lacking.begin(), lacking.end(), [&](const std::string& own) { return ours.starts_with(own); });
}

}  // namespace

/// The base's tensors but for those of the edit.
class EditedFiles::Store : public TensorStore {
 public:
  Store(const ModelFiles& base, const ModelEdit& edit, bool fused) : base_(base.tensors()) {
    const NameScheme scheme = base.scheme();
    for (const auto& [name, tensor] : edit.weights) {
      const WeightPlace place = place_of(scheme, name, fused);
      Tensor values = (place.transposed ? tensor.transpose(0, 1) : tensor).contiguous();
      if (const double added = added_to(scheme, place.name); added != 0)
        values = engine::add(values, Tensor::full({1}, -added, values.dtype()));
      const std::string& theirs = place.name;
      const int axis = place.transposed ? 1 : 0;
      changed_[theirs] = place.parts == 1 ? values : with_part(theirs, values, axis, place.part, place.parts);
    }
    const std::vector<std::string> lacking = lacking_in(edit.config);
    for (const std::string& name : base_.names())
      if (scheme == NameScheme::headroom ? has_full_shape_name(name) : !is_lacking(lacking, scheme, name))
        names_.push_back(name);
    for (const auto& [name, tensor] : changed_)
      if (!base_.contains(name)) names_.push_back(name);
  }

  std::vector<std::string> names() const override { return names_; }
  bool contains(const std::string& name) const override { return changed_.contains(name) || base_.contains(name); }
  engine::Shape shape(const std::string& name) const override {
    return is_changed(name) ? changed_.at(name).shape() : base_.shape(name);
  }
  std::string type(const std::string& name) const override { return is_changed(name) ? "F32" : base_.type(name); }
  StoredTensor read(const std::string& name) const override {
    return is_changed(name) ? StoredTensor(changed_.at(name)) : base_.read(name);
  }
  void release(const std::string& name) const override {
    if (!is_changed(name)) base_.release(name);
  }
  std::string place(const std::string& name) const override { return base_.place(name); }
  bool is_changed(const std::string& name) const { return changed_.contains(name); }

 private:
  /// A fused tensor with one of its parts replaced: those before it are the base's, or were replaced.
  Tensor with_part(const std::string& name, const Tensor& values, int axis, int part, int parts) const {
    Tensor whole;
    if (const auto found = changed_.find(name); found != changed_.end()) {
      whole = found->second;
    } else {
      const StoredTensor stored = base_.read(name);
      const auto* blocks = std::get_if<engine::QuantizedMatrix>(&stored);
      whole = blocks ? blocks->dequantize() : std::get<Tensor>(stored).to(engine::DType::f32);
    }
    const int64_t width = whole.dim(axis) / parts;
    std::vector<Tensor> all;
    for (int i = 0; i < parts; ++i) all.push_back(i == part ? values : whole.slice(axis, i * width, (i + 1) * width));
    return engine::concat(all, axis);
  }

  const TensorStore& base_;
  std::map<std::string, Tensor> changed_;
  std::vector<std::string> names_;
};

namespace {

ModelDescription with_config(ModelDescription description, const TransformerConfig& config) {
  description.config = config;
  return description;
}

}  // namespace

EditedFiles::EditedFiles(const ModelFiles& base, const ModelEdit& edit)
    : ModelFiles(base.path(), with_config(base.description(), edit.config)), base_(base) {
  store_ = std::make_shared<const Store>(base, edit, is_fused());
}

EditedFiles::~EditedFiles() = default;

const TensorStore& EditedFiles::tensors() const { return *store_; }

bool EditedFiles::is_changed(const std::string& name) const { return store_->is_changed(name); }

std::unique_ptr<WeightSource> EditedFiles::weights(const LoadOptions& options) const {
  return std::make_unique<PretrainedWeights>(store_, scheme(), options.keep, options.weights, is_fused());
}

}  // namespace headroom::models
