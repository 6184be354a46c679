#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::tasks {

/// How a text's perplexity is measured. Always name the protocol with a figure: they differ by a quarter.
enum class PerplexityProtocol {
  disjoint,    ///< chunks of `context` tokens, the last shorter one dropped; all but each chunk's first are scored
  hf_strided,  ///< windows of `context` tokens every `stride`, each scoring what the previous one did not see (Hugging
               ///< Face, "Perplexity of fixed-length models"); a beginning token stands before the whole text
  llamacpp,    ///< beginning token and text, in chunks whose first token is replaced by the beginning token; the second
               ///< half of each is scored (llama.cpp's perplexity program)
};
/// "disjoint", "hf-strided", "llamacpp".
const char* name_of(PerplexityProtocol protocol);
/// Throws Error that lists the names.
PerplexityProtocol protocol_named(std::string_view name);

/// Tokens [begin, end) of a text pass through the model together; those from `first` on are scored.
struct ScoredWindow {
  int64_t begin = 0, end = 0, first = 0;
  int64_t targets() const { return end - first; }
  bool operator==(const ScoredWindow&) const = default;
};

/// True if the beginning token comes before the whole text instead of each window.
constexpr bool begins_whole(PerplexityProtocol protocol) { return protocol != PerplexityProtocol::disjoint; }
/// The places that a beginning token takes before a window's own tokens: 1 or 0.
constexpr int64_t places_before(PerplexityProtocol protocol, bool has_begin) {
  return has_begin && !begins_whole(protocol) ? 1 : 0;
}

/// A text's windows, in order; no token is scored twice. `tokens` includes the beginning token if begins_whole().
/// `stride` is hf_strided's. `has_begin`: if it comes before each window (places_before()), it takes one place of the
/// context and lets a window's first token be scored. Throws Error if the context has no token to score, stride is not
/// in [1, context], or the text is too short for one window.
std::vector<ScoredWindow> windows_of(PerplexityProtocol protocol, int64_t tokens, int64_t context, int64_t stride,
                                     bool has_begin = false);

}  // namespace headroom::tasks
