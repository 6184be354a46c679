#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/write/convert.h"

namespace headroom::models {

/// What is known of an edited model, for those who find its files. Only what was measured or chosen is there; the rest
/// stays empty, and is not printed.
struct ModelCard {
  /// How one part of the attention was changed.
  struct Part {
    std::string name;    ///< "queries and keys", "values and output"
    std::string method;  ///< "whitened-grouped"
    /// "layers 0-5", "16" and the like: what has which rank.
    std::vector<std::pair<std::string, std::string>> ranks;
  };
  /// A text that was used, by the tokens [begin, end) of it.
  struct Text {
    std::string file, sha256;
    int64_t begin = 0, end = 0;
  };
  /// The same quantity of the base and of this model; either may be unknown.
  struct Measure {
    std::string name;  ///< "perplexity (disjoint 512)"
    std::optional<double> before{}, after{};
  };

  std::string base{}, base_sha256{};  ///< the model that it was made of
  uint64_t base_bytes = 0;            ///< of its files; 0: not known
  std::string made_by{};              ///< the command line, or what else made it
  std::string program{};              ///< "headroom 1.2"
  std::string change = "compressed";  ///< what was done to it, for the title
  std::vector<Part> parts{};
  std::string refinement{};  ///< "logits, 200 steps"
  std::optional<Text> calibration{}, evaluation{};
  std::vector<Measure> measures{};
  std::vector<std::string> notes{};
};

/// The card as Markdown: `format` and `loaded_by` as in export.h, what the conversion says of the files.
std::string markdown_of(const ModelCard& card, const std::string& format, const std::string& loaded_by,
                        const Conversion& conversion);

}  // namespace headroom::models
