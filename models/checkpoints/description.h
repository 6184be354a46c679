#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/config.h"

namespace headroom::models {

/// A trained model according to its files, before any weight is read.
struct ModelDescription {
  std::string name;    ///< the file's own, else the folder's
  std::string family;  ///< as named in models/families/family.h
  TransformerConfig config;
  int64_t context = 0;  ///< longest training text, in tokens
  /// Ways in which our Transformer would compute something else. Such a model is described, but not run.
  std::vector<std::string> not_run;
  /// Contradictions in the files that matter only to some uses, such as a missing special token.
  std::vector<std::string> warnings;
  std::optional<int64_t> bos;       ///< begins a text if add_bos
  std::vector<int64_t> eos;         ///< end an answer
  std::string eos_text;             ///< the token with this text ends an answer too, by the tokenizer's name; "" = none
  bool add_bos = false;             ///< the tokenizer puts bos before a text
  std::optional<int64_t> text_end;  ///< the token the tokenizer puts after a text
  std::string chat_template;        ///< Jinja, as in the file; "" = none

  /// The token put before every text, if the tokenizer does that.
  std::optional<int64_t> text_begin() const { return add_bos ? bos : std::nullopt; }
  /// The ids the model sees for an unfinished text: text_begin(), then `ids`.
  std::vector<int32_t> with_begin(std::vector<int32_t> ids) const {
    if (const auto begin = text_begin()) ids.insert(ids.begin(), static_cast<int32_t>(*begin));
    return ids;
  }
  /// The ids of a finished text: text_begin(), `ids`, text_end.
  std::vector<int32_t> whole_text(std::vector<int32_t> ids) const {
    if (text_end) ids.push_back(static_cast<int32_t>(*text_end));
    return with_begin(std::move(ids));
  }
};

}  // namespace headroom::models
