#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::tasks {

/// How the perplexity of a text is measured. A figure without its protocol says little: they differ by a quarter.
enum class PerplexityProtocol {
  disjoint,    ///< chunks of `context` tokens, the last shorter one dropped; all but each chunk's first are scored
  hf_strided,  ///< windows of `context` tokens that begin every `stride`; each scores what the one before did not see
               ///< (Hugging Face, "Perplexity of fixed-length models"); what begins a text stands before the whole
  llamacpp,    ///< the text behind what begins it, in chunks, whose first token is what begins a text; of each the
               ///< second half is scored (llama.cpp's perplexity program)
};
/// "disjoint", "hf-strided", "llamacpp".
const char* name_of(PerplexityProtocol protocol);
/// Throws Error that lists the names.
PerplexityProtocol protocol_named(std::string_view name);

/// Tokens [begin, end) of a text go through the model together; those from `first` on are scored.
struct ScoredWindow {
  int64_t begin = 0, end = 0, first = 0;
  int64_t targets() const { return end - first; }
  bool operator==(const ScoredWindow&) const = default;
};

/// Whether what begins a text is put before the whole of it, and not before each window.
constexpr bool begins_whole(PerplexityProtocol protocol) { return protocol != PerplexityProtocol::disjoint; }
/// Places of a window that what begins a text takes before the window's own tokens: 1 or 0.
constexpr int64_t places_before(PerplexityProtocol protocol, bool has_begin) {
  return has_begin && !begins_whole(protocol) ? 1 : 0;
}

/// The windows of a text of that many tokens, with what begins it where begins_whole(), in order; no token is scored
/// twice. `stride` is hf_strided's. `has_begin`: where it comes before each window (places_before()) it takes one of
/// the context's places and lets a window's first token be scored. Throws Error when the context has no token to score,
/// stride is not in [1, context], or the text is too short for one window.
std::vector<ScoredWindow> windows_of(PerplexityProtocol protocol, int64_t tokens, int64_t context, int64_t stride,
                                     bool has_begin = false);

}  // namespace headroom::tasks
