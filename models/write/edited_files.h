#pragma once
#include <memory>
#include <set>
#include <string>

#include "models/checkpoints/model_edit.h"

namespace headroom::models {

/// The files of a base with the weights of an edit in place of some of theirs, under the names and in the layout of the
/// base's files: what a conversion writes. The edit is at full shape (see rebuilt). The base must live as long.
class EditedFiles : public ModelFiles {
 public:
  /// Throws Error naming a weight that the base's files have no name for.
  EditedFiles(const ModelFiles& base, const ModelEdit& edit);
  ~EditedFiles() override;

  const TensorStore& tensors() const override;
  NameScheme scheme() const override { return base_.scheme(); }
  const GgufMetadata* metadata() const override { return base_.metadata(); }
  std::unique_ptr<WeightSource> weights(const LoadOptions& options) const override;
  bool has_tokenizer() const override { return base_.has_tokenizer(); }
  Vocabulary vocabulary() const override { return base_.vocabulary(); }
  /// Whether the tensor of that name in the files is the edit's.
  bool is_changed(const std::string& name) const;

 private:
  class Store;
  bool is_fused() const { return scheme() != NameScheme::headroom && family_named(description().family).is_fused(); }

  const ModelFiles& base_;
  std::shared_ptr<const Store> store_;
};

}  // namespace headroom::models
