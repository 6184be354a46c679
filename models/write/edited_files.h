#pragma once
#include <memory>
#include <set>
#include <string>

#include "models/checkpoints/model_edit.h"

namespace headroom::models {

/// A base's files with some weights replaced by an edit's, under the base's names and layout: the input of a
/// conversion. The edit is at full shape (see rebuilt). The base must outlive it.
class EditedFiles : public ModelFiles {
 public:
  /// Throws Error naming a weight that has no name in the base's files.
  EditedFiles(const ModelFiles& base, const ModelEdit& edit);
  ~EditedFiles() override;

  const TensorStore& tensors() const override;
  NameScheme scheme() const override { return base_.scheme(); }
  const GgufMetadata* metadata() const override { return base_.metadata(); }
  std::unique_ptr<WeightSource> weights(const LoadOptions& options) const override;
  bool has_tokenizer() const override { return base_.has_tokenizer(); }
  Vocabulary vocabulary() const override { return base_.vocabulary(); }
  /// True if the edit replaces the file's tensor of that name.
  bool is_changed(const std::string& name) const;

 private:
  class Store;
  bool is_fused() const { return scheme() != NameScheme::headroom && family_named(description().family).is_fused(); }

  const ModelFiles& base_;
  std::shared_ptr<const Store> store_;
};

}  // namespace headroom::models
