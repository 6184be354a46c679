#include "experiments/studies/claims/paper_sentences.h"

#include <nlohmann/json.hpp>

namespace headroom::experiments {

const std::vector<PaperSentence>& paper_sentences() {
  static const std::vector<PaperSentence> all = [] {
    std::vector<PaperSentence> read;
    for (const nlohmann::json& s : nlohmann::json::parse(kPaperSentences))
      read.push_back({s.at("id"), s.at("where"), s.at("says"), s.value("untested", ""),
                      s.value("elsewhere", std::vector<std::string>{}), s.value("at_most", ""),
                      s.value("because", "")});
    return read;
  }();
  return all;
}

}  // namespace headroom::experiments
