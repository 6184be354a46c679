#pragma once
#include <map>
#include <string>
#include <vector>

#include "models/checkpoints/model_edit.h"
#include "tasks/compression/head_maps.h"

namespace headroom::tasks {

/// Writes the weights that one layer's attention has after a plan.
class LayerWriter {
 public:
  /// `weights`: of the whole base, by our names; must outlive the writer.
  LayerWriter(const models::TransformerConfig& base, const CompressionPlan& plan, int64_t layer,
              const std::map<std::string, Tensor>& weights);
  /// Appends what differs from the base, f32, and returns the layer's groups of heads. The maps are not looked at for
  /// heads that are left as they are.
  std::vector<models::HeadGroup> write(const LayerMaps& maps, models::NamedTensors& out);

 private:
  /// One head of a group's queries, keys or values. Of two joined keys the first has the map; two joined values are
  /// one.
  struct OwnHead {
    int64_t source = 0, count = 1;    ///< the base's head, and how many from it on
    int64_t rank = 0;                 ///< 0: as it is
    const LowRankMap* map = nullptr;  ///< null: as it is
    std::vector<int64_t> rows = {};   ///< of methods of whole pairs: those of the base that are kept
  };
  struct Pieces {
    std::vector<Tensor> a, b, weight, bias;  ///< of each head; what does not apply is empty
  };

  std::vector<OwnHead> queries_of(size_t group, const LayerMaps& maps) const;
  std::vector<OwnHead> keys_of(size_t group, const LayerMaps& maps) const;
  std::vector<OwnHead> values_of(size_t group, const LayerMaps& maps) const;
  /// One head of q_proj or k_proj.
  void add_score_head(Pieces& pieces, const std::string& name, const OwnHead& head) const;
  void write_scores(const std::string& name, size_t group, const std::vector<OwnHead>& heads,
                    models::NamedTensors& out) const;
  void write_values(size_t group, const std::vector<OwnHead>& heads, models::NamedTensors& out) const;
  void write_output(const LayerMaps& maps, models::NamedTensors& out) const;
  int64_t qk_rank(const HeadSpan& span) const;
  static const ScoreMaps* score_maps_of(const HeadSpan& span, const LayerMaps& maps);
  /// Query or key head `source` of the base, with what replaces query head `index` of the span's group.
  OwnHead score_head(const HeadSpan& span, int64_t source, const ScoreMaps* maps,
                     const std::vector<LowRankMap> ScoreMaps::*part, int64_t index) const;
  std::vector<int64_t> kept_pairs(const ScoreMaps& maps, int64_t query, int64_t rank) const;
  std::vector<int64_t> rows_of(const std::vector<int64_t>& pairs) const;
  /// Rows of `count` heads of a projection of the base, or of its bias, in f64; undefined where it has none.
  Tensor rows_of_base(const std::string& name, int64_t head, int64_t dim, int64_t count = 1) const;
  std::string path(size_t group, const std::string& name) const;
  /// Whether the whole layer is one group, so that what is not written is the base's.
  bool is_whole() const { return own_.groups.size() == 1; }

  const models::TransformerConfig& base_;
  const CompressionPlan& plan_;
  int64_t layer_;
  const std::map<std::string, Tensor>& weights_;
  models::HeadGroup head_;  ///< of the base
  CompressedLayer own_;
};

}  // namespace headroom::tasks
