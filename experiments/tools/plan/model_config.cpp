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
namespace {

/// A file's frequencies are those of one head_dim, and cost nothing.
PlanModel sizes_of(models::TransformerConfig config, std::string source) {
  for (models::HeadGroup& group : config.groups) group.rope_frequencies.clear();
  return {std::move(config), std::move(source)};
}

}  // namespace

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

PlanModel parse_plan_json(std::string_view json, const std::string& source) {
  nlohmann::json parsed;
  try {
    parsed = models::parse_json(json);
  } catch (const Error&) {  // parse_hugging_face() says why
  }
  if (models::is_compact_config(parsed)) {
    models::CompactConfig model = models::read_compact_config(parsed, source);
    return sizes_of(std::move(model.config), fmt::format("{} ({}, compact)", source, model.family));
  }
  models::HuggingFaceModel model = models::parse_hugging_face(json, source);
  return {std::move(model.config), fmt::format("{} ({})", source, model.model_type)};
}

PlanModel read_model(const std::string& path) {
  const std::filesystem::path file(path);
  if (file.extension() == ".gguf") {
    models::ModelDescription model = models::describe_gguf(models::GgufFile(path));
    return sizes_of(std::move(model.config), fmt::format("{} ({})", path, model.family));
  }
  std::error_code unreadable;
  const std::string name = std::filesystem::is_directory(file, unreadable) ? (file / "config.json").string() : path;
  std::string text;
  try {
    text = models::read_file(name, {"config of a model", uint64_t{1} << 24});
  } catch (const Error& error) {
    fail("--config: {}", error.what());
  }
  return file.extension() == ".toml" ? parse_plan_toml(text, path) : parse_plan_json(text, name);
}

}  // namespace headroom::experiments
