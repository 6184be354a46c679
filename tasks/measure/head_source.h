#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include "tasks/measure/studied_model.h"
#include "tasks/theory/heads.h"

namespace headroom::tasks {

/// A head's source: random, a model trained by a study, or a trained model's files.
struct HeadSource {
  std::string run{};              ///< a study's folder with weights/, such as runs/STUDY/quick; empty: a random head
  std::string trial{};            ///< if a run kept several models: the start of the id
  int64_t seed = -1;              ///< the seed it was trained with; -1: any
  StudiedModelConfig model{};     ///< of files; its own random copy counts as such a model
  StudiedTextConfig text{};       ///< the file model's input
  bool ignores_rotation = false;  ///< leaves out a file model's turns: only W_Qᵀ W_K remains
  int64_t layer = 0;              ///< of a trained model
  int64_t head = 0;
  int64_t width = 64;     ///< D of a random head
  int64_t head_dim = 16;  ///< d_H of a random head
  double gain =
      1;  ///< of a random head: weights are N(0, gain²/D), so that q and k of unit tokens have norm gain·√(d_H/D)

  bool is_of_files() const { return !model.model.empty(); }
  bool is_drawn() const { return run.empty() && !is_of_files(); }
};

/// A head's input.
enum class HeadTokens {
  random,       ///< uniform on a sphere
  embedding,    ///< of a trained model's first layer: drawn from its vocabulary, with its positions and norm
  activations,  ///< the input of a file model's layer on a span of text, after its norm
};

/// Throws Error naming the field.
void validate(const HeadSource& source);

/// The weights file of the model that a source names: the only one in run/weights whose name begins with source.trial
/// and whose config has source.seed. Throws Error if there is none (saying how a run keeps them), or more than one.
std::filesystem::path trained_weights(const HeadSource& source);

/// The named head of a trained model: its maps and biases, logit scale, learned ALiBi slope and rotary base. Heads of a
/// group may share keys. Throws Error if the file holds no trial's config, its weights are not finite or do not fit the
/// config, or there is no such layer or head.
HeadMaps read_head_of_run(const HeadSource& source);

/// The first layer's input in a trained model: `length` tokens drawn uniformly from its vocabulary, their embeddings
/// plus positions, through the norm before attention if there is one: (D, length), f64. Throws Error for a layer other
/// than 0, a model without a vocabulary, and more tokens than it has learned positions.
engine::Tensor embedded_tokens(const HeadSource& source, int64_t length, uint64_t seed);

/// The head that a source of files names: its query rows and the key rows that serve it, biases as a last column, their
/// norms, its logit scale, and its turns (base, scaling and pairing) unless ignored. Throws Error if there is no such
/// layer or head, or if its logits need more than that: ALiBi, low-rank factors.
HeadMaps head_of_model(StudiedModel& model, const HeadSource& source);

/// That head's input for span `seed` of the source's text: its layer's attention input after the norm, computed in f32
/// by the layers below: (D, length), f64. Does not run the layers above.
engine::Tensor layer_inputs(StudiedModel& model, const HeadSource& source, int64_t length, uint64_t seed);

/// A random head of the seed, with logit scale 1 as in the paper's theory; or read_head_of_run(). Not for files
/// (head_of_model()).
HeadMaps load_head(const HeadSource& source, uint64_t seed);

/// A head's input tokens: (D, L), with biases (D + 1, L) and ones in the last row. `norm`: of random ones. Errors as
/// random_tokens() and embedded_tokens(); a random head has no embedding.
engine::Tensor head_tokens(const HeadSource& source, const HeadMaps& maps, HeadTokens kind, int64_t length, double norm,
                           uint64_t seed);

}  // namespace headroom::tasks
