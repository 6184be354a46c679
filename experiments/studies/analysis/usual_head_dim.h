#pragma once
#include <cstdint>
#include <string>

namespace headroom::experiments {

/// The width of heads that most published decoders of width D have, among the divisors of D: near 64 up to D = 2048
/// (the config.json of GPT-2, SmolLM2, Llama 3.2 1B), near 128 above (Llama 3 8B, Mistral 7B, Qwen2.5 7B).
int64_t usual_head_dim(int64_t width);

/// "64 up to a model width of 2048 and 128 above".
std::string usual_head_dims_text();

/// The factor between two widths: 1 or more.
double factor_between(int64_t a, int64_t b);

}  // namespace headroom::experiments
