#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/write/convert.h"

namespace headroom::models {

/// Facts about an edited model, for people who find its files. Holds only what was measured or chosen; empty fields are
/// not printed.
struct ModelCard {
  /// How one part of the attention was changed.
  struct Part {
    std::string name;    ///< "queries and keys", "values and output"
    std::string method;  ///< "whitened-grouped"
    /// The ranks of the parts: "layers 0-5", "16" and the like.
    std::vector<std::pair<std::string, std::string>> ranks;
  };
  /// A text that was used, and its range of tokens [begin, end).
  struct Text {
    std::string file, sha256;
    int64_t begin = 0, end = 0;
  };
  /// A quantity measured on the base and on this model; either may be unknown.
  struct Measure {
    std::string name;  ///< "perplexity (disjoint 512)"
    std::optional<double> before{}, after{};
  };

  std::string base{}, base_sha256{};  ///< the original model
  uint64_t base_bytes = 0;            ///< of its files; 0: unknown
  std::string made_by{};              ///< the command line, or whatever made it
  std::string program{};              ///< "headroom 1.2"
  std::string change = "compressed";  ///< the change, for the title
  std::vector<Part> parts{};
  std::string refinement{};  ///< "logits, 200 steps"
  std::optional<Text> calibration{}, evaluation{};
  std::vector<Measure> measures{};
  std::vector<std::string> notes{};
};

/// What the Hugging Face Hub reads of a model, at the head of its card.
struct CardHead {
  std::string base;     ///< its name, on the Hub if that is "owner/name"
  std::string license;  ///< "": not said
  std::string library;  ///< that loads it: "transformers", "gguf", "headroom"
  bool is_classifier = false;
};

/// What the files of a model say of its license, as the Hub abbreviates it ("apache-2.0"): a GGUF file's metadata, or
/// the head of the README.md in its folder; "" if nothing.
std::string license_of(const ModelFiles& model);

/// The head as YAML between two lines "---". What is not known is a comment: the user fills it in.
std::string front_matter(const CardHead& head, const std::string& change);

/// The card as Markdown, without its head: `format` and `loaded_by` as in export.h, and the conversion's facts about
/// the files.
std::string markdown_of(const ModelCard& card, const std::string& format, const std::string& loaded_by,
                        const Conversion& conversion);

}  // namespace headroom::models
