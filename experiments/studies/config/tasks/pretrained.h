#pragma once
#include <string>

#include "experiments/studies/toml/reader.h"
#include "tasks/measure/studied_model.h"

namespace headroom::experiments {

/// A key that names a file: what the study file's folder has by that name, else the name as it is.
void set_file(Reader& in, const char* key, std::string& path, const char* doc);

/// Keys that every study of a trained model has.
tasks::StudiedModelConfig bind_studied_model(Reader& in);
/// `usual`: which text where the study does not say.
tasks::StudiedTextConfig bind_studied_text(Reader& in, const tasks::StudiedTextConfig& usual = {});

}  // namespace headroom::experiments
