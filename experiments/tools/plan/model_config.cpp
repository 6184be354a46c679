#include "experiments/tools/plan/model_config.h"

#include <filesystem>

#include "engine/error.h"
#include "experiments/studies/config/bind.h"
#include "experiments/studies/toml/document.h"
#include "experiments/studies/toml/reader.h"
#include "models/checkpoints/compact_model.h"
#include "models/checkpoints/model_files.h"
#include "models/files/json.h"
#include "models/files/regular_file.h"
#include "models/gguf/gguf.h"
#include "models/hugging_face/config.h"

namespace headroom::experiments {

PlanModel parse_plan_toml(const std::string& text, const std::string& source) {
  const Value root = parse_toml(text, source);
  Complaints problems;
  PlanModel model;
  {
    Reader in(root, "", problems);

    const int64_t vocab = in.integer("vocab", std::nullopt, count, "tokens of the vocabulary");
    const int64_t context = in.integer("context", 1024, count, "longest sequence");
    const bool has_model = in.optional_table("model", "the Transformer", [&](Reader& table) {
      model.config = bind_model(table);
      table.finish();
    });
    if (!has_model) in.complain("model", "missing table");
    in.finish();
    model.config.vocab = model.config.output_dim = vocab;
    model.config.max_length = context;
    if (problems.empty()) check_model(root, model.config, problems);
  }
  problems.raise();
  model.source = source;
  return model;
}

/// The JSON, or null where it is none: who reads it says why.
nlohmann::json parsed_or_null(std::string_view json) {
  try {
    return models::parse_json(json);
  } catch (const Error&) {
    return nullptr;
  }
}

PlanModel parse_plan_json(std::string_view json, const std::string& source) {
  if (const auto parsed = parsed_or_null(json); models::is_compact_config(parsed)) {
    models::CompactConfig model = models::read_compact_config(parsed, source);
    for (models::HeadGroup& group : model.config.groups) group.rope_frequencies.clear();  // as of a GGUF file
    return {std::move(model.config), fmt::format("{} ({}, compact)", source, model.family)};
  }
  models::HuggingFaceModel model = models::parse_hugging_face(json, source);
  return {std::move(model.config), fmt::format("{} ({})", source, model.model_type)};
}

/// A GGUF file's model. Frequencies of its own are those of one head_dim, and cost nothing.
PlanModel read_gguf_model(const std::string& path) {
  models::ModelDescription model = models::describe_gguf(models::GgufFile(path));
  for (models::HeadGroup& group : model.config.groups) group.rope_frequencies.clear();
  return {std::move(model.config), fmt::format("{} ({})", path, model.family)};
}

PlanModel read_model(const std::string& path) {
  const std::filesystem::path file(path);
  std::error_code unreadable;
  const bool is_folder = std::filesystem::is_directory(file, unreadable);
  const std::string name = is_folder ? (file / "config.json").string() : path;
  if (file.extension() == ".gguf") return read_gguf_model(path);
  std::string text;
  try {
    text = models::read_file(name, {"config of a model", uint64_t{1} << 24});
  } catch (const Error& error) {
    fail("--config: {}", error.what());
  }
  return file.extension() == ".toml" ? parse_plan_toml(text, path) : parse_plan_json(text, name);
}

}  // namespace headroom::experiments
