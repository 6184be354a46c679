#include "tasks/measure/head_loader.h"

#include <algorithm>

#include "engine/error.h"
#include "engine/ops/concat/concat.h"
#include "tasks/data/sha256.h"
#include "tasks/theory/low_rank_logits.h"

namespace headroom::tasks {
namespace {

/// The head in the theorems' form; throws Error if it has more.
HeadMaps plain_head_of_model(StudiedModel& model, const HeadSource& source) {
  HeadMaps maps = head_of_model(model, source);
  require(!maps.q_gain.defined(),
          "{}: its queries and keys are normed; expected heads whose queries and keys are x W^T + b",
          source.model.model);
  return maps;
}

}  // namespace

StudiedHead HeadLoader::load(HeadTokens kind, int64_t length, double norm, uint64_t seed) const {
  StudiedHead head;
  if (kind == HeadTokens::activations) {
    head.maps = plain_head_of_model(model(), source_);
    head.tokens = layer_inputs(model(), source_, length, seed);
    if (head.maps.has_biases)
      head.tokens = engine::concat({head.tokens, engine::Tensor::full({1, length}, 1, engine::DType::f64)}, 0);
  } else {
    head.maps = source_.is_of_files() ? plain_head_of_model(model(), source_) : load_head(source_, seed);
    head.tokens = head_tokens(source_, head.maps, kind, length, norm, seed);
  }
  const std::vector<double> norms = token_norms(head.tokens);
  head.norm = *std::max_element(norms.begin(), norms.end());
  return head;
}

std::string HeadLoader::name() const {
  if (source_.is_drawn()) return fmt::format("a random head of width {} in {}", source_.head_dim, source_.width);
  return fmt::format("head {} of layer {} of {}{}", source_.head, source_.layer,
                     source_.is_of_files() ? source_.model.model : source_.run,
                     source_.model.is_random ? " with random weights" : "");
}

std::map<std::string, std::string> HeadLoader::hashes() const {
  if (source_.is_drawn()) return {};
  if (source_.is_of_files()) {
    try {
      return model().hashes(source_.text);
    } catch (const Error&) {  // told by load(): a trial that fails for lack of its model has read nothing
      return {};
    }
  }
  const std::filesystem::path file = trained_weights(source_);
  return {{file.string(), sha256_of_file(file)}};
}

}  // namespace headroom::tasks
