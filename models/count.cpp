#include "models/count.h"

#include "models/transformer.h"

namespace headroom::models {

int64_t parameter_count(const TransformerConfig& config) {
  validate(config);
  return count_parameters<int64_t>(config);
}

double forward_flops(const TransformerConfig& c, int64_t batch, int64_t length) {
  validate(c);
  const double tokens = static_cast<double>(batch) * static_cast<double>(length), width = static_cast<double>(c.width);
  double block = 0;  // multiply-adds per token
  for (const HeadGroup& g : c.groups) {
    const auto heads = static_cast<double>(g.heads), kv_heads = static_cast<double>(g.key_value_heads());
    const auto qk = static_cast<double>(g.qk_dim), v = static_cast<double>(g.v_dim);
    block += width * (heads * qk + kv_heads * (qk + v));      // Q, K, V
    block += static_cast<double>(length) * heads * (qk + v);  // scores, weighted values
    block += heads * v * width;                               // O
  }
  block += width * static_cast<double>(c.ffn_width) * (c.activation == Activation::swiglu ? 3 : 2);
  const double readouts = c.pooling == Pooling::mean ? static_cast<double>(batch) : tokens;
  const auto outputs = static_cast<double>(c.tied ? c.vocab : c.output_dim),
             hidden = static_cast<double>(c.readout_width);
  const double readout = c.readout_width > 0 ? hidden * (width + outputs) : width * outputs;
  return 2 * (tokens * (static_cast<double>(c.input_dim) * width + static_cast<double>(c.layers) * block) +
              readouts * readout);
}

}  // namespace headroom::models
