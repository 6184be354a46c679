#pragma once
#include <string>

#include "experiments/studies/toml/reader.h"
#include "tasks/measure/attention_heads.h"

namespace headroom::experiments {

/// `path`, the value of `key`, from the study file's folder where there is such a file, else as it is.
std::string beside_study(Reader& in, const std::string& key, const std::string& path);

/// Keys that every study of a trained model has.
tasks::StudiedModelConfig bind_studied_model(Reader& in);
/// `text`: where the study does not say which.
tasks::StudiedTextConfig bind_studied_text(Reader& in, const std::string& text = tasks::StudiedTextConfig{}.text);

}  // namespace headroom::experiments
