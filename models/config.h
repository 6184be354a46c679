#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/quantized/format.h"

namespace headroom::models {

/// Heads of one shape. Widths are free of D/H and of each other: Q/K may be narrower than V, groups may differ. A rank
/// above 0 makes a projection of this group two factors (out, rank) and (rank, D); a head rank makes it two factors per
/// head, (qk_dim, rank) and (rank, D).
struct HeadGroup {
  int64_t heads = 1;
  int64_t qk_dim = 64;
  int64_t v_dim = 64;
  int64_t kv_heads = 0;  ///< 0: as many as heads; else divides heads
  int64_t q_rank = 0, k_rank = 0, v_rank = 0;
  int64_t q_head_rank = 0, k_head_rank = 0;  ///< in place of q_rank and k_rank
  /// > 0: each head's queries and keys are mapped to this width after they turn, as a score needs no more; the cache
  /// holds such keys. The scale stays that of qk_dim.
  int64_t score_dim = 0;
  /// > 1, with score_dim: this many neighbouring heads of the keys' projection are mapped together, after they turn, to
  /// the one key that the cache holds. Their query heads share it, and one value.
  int64_t joined_keys = 1;
  std::vector<double>
      rope_frequencies{};  ///< qk_dim/2 given ones; empty: those of the config's rope_base and rope_scaling
  /// Formats of the group's cached keys and values, both or neither: a budget's choice for this model.
  std::optional<engine::BlockFormat> key_cache{}, value_cache{};
  int64_t key_value_heads() const { return kv_heads == 0 ? heads : kv_heads; }
  /// Heads of the keys' projection: key_value_heads() unless some are joined.
  int64_t projected_keys() const { return key_value_heads() * joined_keys; }
  /// Width of the queries and keys that are multiplied.
  int64_t key_dim() const { return score_dim > 0 ? score_dim : qk_dim; }
  bool operator==(const HeadGroup&) const = default;
};

/// One layer: its heads and the widths that may differ from layer to layer.
struct LayerConfig {
  std::vector<HeadGroup> groups;  ///< none: a layer without attention, and without its norm
  int64_t ffn_width = 0;          ///< 0: no feed-forward network; a gated one has three matrices of this width
  int64_t o_rank = 0;             ///< > 0: the output projection is two factors (D, rank) and (rank, values)
  /// Query heads of all groups.
  int64_t heads() const {
    int64_t sum = 0;
    for (const HeadGroup& group : groups) sum += group.heads;
    return sum;
  }
  bool operator==(const LayerConfig&) const = default;
};

enum class Positions { none, sinusoidal, learned, rope, alibi, rope_alibi };
enum class Norm { none, layer_norm, rms_norm };
/// `both`: before each branch, and once more on what it adds (Gemma).
enum class NormPlace { pre, post, both };
/// The activations of feed-forward networks: X(the op, which names it in studies and files, whether a third matrix
/// gates). `swiglu`, `geglu`: gated by silu or by gelu_tanh.
#define HEADROOM_ACTIVATIONS(X) \
  X(relu, false)                \
  X(gelu, false)                \
  X(gelu_tanh, false)           \
  X(silu, false)                \
  X(swiglu, true)               \
  X(geglu, true)
#define HEADROOM_VALUE(NAME, GATED) NAME,
enum class Activation { HEADROOM_ACTIVATIONS(HEADROOM_VALUE) };
#undef HEADROOM_VALUE
/// True if the feed-forward network has a third matrix, the gate's.
constexpr bool is_gated(Activation activation) {
#define HEADROOM_GATED(NAME, GATED) GATED,
  return std::array{HEADROOM_ACTIVATIONS(HEADROOM_GATED)}[static_cast<size_t>(activation)];
#undef HEADROOM_GATED
}
/// The model's output: one vector per position, or one per sequence: the mean over the positions that a key mask
/// keeps, or the last of them (transformers' classifiers of causal models).
enum class Pooling { none, mean, last };

/// How a weight starts. `torch_linear`: uniform ±1/√fan_in, biases too (PyTorch's Linear). `normal`: N(0, std²), biases
/// 0. `xavier`: uniform ±√(6/(fan_in + fan_out)), biases 0. `kaiming`: N(0, 2/fan_in), biases 0. `gpt2`: N(0, 0.02²),
/// the projections that end a residual branch divided by √(2·layers), biases 0.
enum class InitScheme { torch_linear, normal, xavier, kaiming, gpt2 };
struct Init {
  InitScheme scheme = InitScheme::torch_linear;
  double std = 0.02;            ///< of `normal`
  double embedding_std = 0.02;  ///< token embeddings: N(0, embedding_std²)
  double position_std = 0.02;   ///< learned positions: N(0, position_std²)
};

/// How RoPE's frequencies f_i = base^(-2i/D) are slowed for texts longer than those of the first training, with L =
/// original_length. `linear`: f/factor. `llama3` (Llama 3.1): with the wavelength λ = 2π/f, f where λ < L/high,
/// f/factor where λ > L/low, and (1 - s)·f/factor + s·f with s = (L/λ - low)/(high - low) between. `yarn` (Peng et al.,
/// 2023): that with s linear in i between the pairs that turn `high` and `low` times within L. `longrope` (Ding et al.,
/// 2024): f divided by short_factors, or in texts beyond L by long_factors. `dynamic`: f in texts of n ≤ L tokens, and
/// beyond that those of base·(factor·n/L - factor + 1)^(D/(D - 2)).
enum class RopeScalingKind { none, linear, llama3, yarn, longrope, dynamic };
struct RopeScaling {
  RopeScalingKind kind = RopeScalingKind::none;
  double factor = 1, low = 1, high = 4;
  int64_t original_length = 8192;
  double attention_factor = 1;  ///< of turned queries and of turned keys; it is in the scale of their products here
  bool truncate = true;         ///< yarn: s goes from a whole pair to a whole pair
  std::vector<double> short_factors{}, long_factors{};  ///< longrope: one for each pair
};

/// yarn's bounds of turns, and what it multiplies turned queries and keys by, where nothing else is said (Peng et al.,
/// 2023); `weight`: DeepSeek's, of the logarithm.
inline constexpr double yarn_slow = 1, yarn_fast = 32;
double yarn_attention(double factor, double weight = 1);

/// An encoder (causal = false) or decoder stack between an input and a readout.
struct TransformerConfig {
  // The stack
  int64_t layers = 1;
  int64_t width = 64;             ///< D
  std::vector<HeadGroup> groups;  ///< of every layer
  int64_t ffn_width = 0;          ///< of every layer; 0: no feed-forward network
  int64_t o_rank = 0;             ///< of every layer
  /// Layers of unequal shape, `layers` of them, in place of groups, ffn_width and o_rank; empty: all are alike.
  std::vector<LayerConfig> unequal_layers;

  // Input and readout
  int64_t vocab = 0;           ///< > 0: token input through an embedding
  int64_t input_dim = 0;       ///< > 0: real-valued tokens through a Projection; exactly one of vocab, input_dim is set
  double embedding_scale = 1;  ///< what an embedded token is multiplied by; a tied readout is not
  int64_t output_dim = 0;      ///< width of the readout; vocab when `tied`
  int64_t readout_width = 0;   ///< > 0: the readout is Projection, GELU, Projection with this width between them
  bool readout_bias = true;    ///< of a readout that is not tied
  bool tied = false;           ///< the readout is the token embedding, without bias
  Pooling pooling = Pooling::none;

  // Positions
  Positions positions = Positions::learned;
  int64_t max_length = 64;  ///< longest sequence (learned and sinusoidal positions)
  double rope_base = 10000.0;
  RopeScaling rope_scaling;
  double window_rope_base = 0;  ///< > 0: of layers with a window, which then have a scaling of their own, too
  RopeScaling window_rope_scaling;
  bool rope_interleaved = false;   ///< turns the pairs (2i, 2i + 1) of a head, as GGUF's llama rows lie; else halves
  double alibi_slope_first = 4.0;  ///< learnable slopes e^θ start geometrically between first and last over the heads
  double alibi_slope_last = 0.05;
  int64_t alibi_slopes = 0;  ///< > 0: so many distinct ones to start from, see alibi_log_slopes()

  // Attention
  bool causal = false;
  int64_t window = 0;                 ///< > 0: a position sees this many latest ones, itself included: a sliding window
  std::vector<int64_t> full_layers;   ///< layers that see every position despite it, ascending
  std::optional<double> logit_scale;  ///< default 1/√qk_dim of each group
  bool qk_norm = false;               ///< RMS norm over each head's queries and keys, before they turn (Qwen3)
  bool attention_bias = true;         ///< on Q, K, V and O,
  std::optional<bool> q_bias, k_bias, v_bias, o_bias;  ///< where these do not say otherwise

  // Feed-forward network
  Activation activation = Activation::gelu;
  bool ffn_bias = true;

  // Norms
  Norm norm = Norm::layer_norm;
  NormPlace norm_place = NormPlace::pre;
  bool final_norm = true;  ///< of pre-norm stacks
  double norm_eps = 1e-5;

  // Training
  double dropout = 0.0;            ///< on attention probabilities and on each residual branch
  bool checkpoint_blocks = false;  ///< recompute each block in backward
  Init init;
};

/// What every layer is: unequal_layers, or `layers` times the same.
std::vector<LayerConfig> layers_of(const TransformerConfig& config);

LayerConfig first_layer(const TransformerConfig& config);
/// The first group of heads of the first layer that has one.
HeadGroup first_group(const TransformerConfig& config);

/// Keys that a position of the layer sees, itself among them; 0: all.
inline int64_t window_of(const TransformerConfig& config, int64_t layer) {
  return std::binary_search(config.full_layers.begin(), config.full_layers.end(), layer) ? 0 : config.window;
}

/// True if compression has changed a layer's heads: some matrix, the output projection included, is two factors,
/// or queries and keys are mapped to a score_dim.
bool has_factored_heads(const LayerConfig& layer);

/// f(layer, times) for each run of equal layers that the config names: all at once where they are alike, however many.
template <class F>
void for_each_layer(const TransformerConfig& config, const F& f) {
  if (config.unequal_layers.empty()) f(first_layer(config), config.layers);
  for (const LayerConfig& layer : config.unequal_layers) f(layer, int64_t{1});
}

/// Which projections have a bias.
struct AttentionBiases {
  bool q, k, v, o;
};
AttentionBiases attention_biases(const TransformerConfig& config);

/// The names above, as study files and describe() write them.
const char* name_of(Positions positions);
const char* name_of(Norm norm);
const char* name_of(NormPlace place);
const char* name_of(Activation activation);
const char* name_of(Pooling pooling);
const char* name_of(InitScheme scheme);
const char* name_of(RopeScalingKind kind);

}  // namespace headroom::models
