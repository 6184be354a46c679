#include "tasks/measure/protocol.h"

#include <algorithm>

#include "engine/name_table.h"

namespace headroom::tasks {
namespace {

constexpr NameTable<PerplexityProtocol, 3> protocol_names{{{PerplexityProtocol::disjoint, "disjoint"},
                                                           {PerplexityProtocol::hf_strided, "hf-strided"},
                                                           {PerplexityProtocol::llamacpp, "llamacpp"}}};

std::vector<ScoredWindow> strided_windows(int64_t tokens, int64_t context, int64_t stride) {
  std::vector<ScoredWindow> windows;
  int64_t scored = 1;  // nothing predicts a window's first token
  for (int64_t begin = 0; scored < tokens; begin += stride) {
    const int64_t end = std::min(begin + context, tokens);
    windows.push_back({begin, end, std::max(scored, begin + 1)});
    scored = end;
  }
  return windows;
}

}  // namespace

const char* name_of(PerplexityProtocol protocol) { return name_in(protocol_names, protocol); }

PerplexityProtocol protocol_named(std::string_view name) {
  return named_in(protocol_names, name, "perplexity", "protocol");
}

std::vector<ScoredWindow> windows_of(PerplexityProtocol protocol, int64_t tokens, int64_t context, int64_t stride,
                                     bool has_begin) {
  require(context >= 2, "perplexity: a context of {} has no token to score; expected 2 or more", context);
  const int64_t before = places_before(protocol, has_begin), own = context - before;  // tokens of the text in a window
  if (protocol == PerplexityProtocol::hf_strided) {
    require(stride >= 1 && stride <= context, "perplexity: a stride of {} is not between 1 and the context, {}", stride,
            context);
    require(tokens >= 2, "perplexity: a text of {} tokens has none to score", tokens);
    return strided_windows(tokens, context, stride);
  }
  require(tokens >= own, "perplexity: the text has {} tokens, one chunk takes {}: use a smaller context", tokens, own);
  const int64_t skipped = protocol == PerplexityProtocol::llamacpp ? context / 2 + 1 : 1 - before;
  require(skipped < own, "perplexity: a context of {} has no second half to score", context);
  std::vector<ScoredWindow> windows;
  for (int64_t begin = 0; begin + own <= tokens; begin += own) windows.push_back({begin, begin + own, begin + skipped});
  return windows;
}

}  // namespace headroom::tasks
