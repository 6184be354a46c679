#include "experiments/plan/model_config.h"

#include <filesystem>

#include "engine/error.h"
#include "experiments/config/bind.h"
#include "experiments/toml/document.h"
#include "experiments/toml/reader.h"
#include "models/files/regular_file.h"
#include "models/hugging_face/config.h"

namespace headroom::experiments {

PlanModel parse_plan_toml(const std::string& text, const std::string& source) {
  const Value root = parse_toml(text, source);
  Problems problems;
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
  models::HuggingFaceModel model = models::parse_hugging_face(json, source);
  return {std::move(model.config), fmt::format("{} ({})", source, model.model_type)};
}

PlanModel read_model(const std::string& path) {
  std::string text;
  try {
    text = models::read_file(path, {"config of a model", uint64_t{1} << 24});
  } catch (const Error& error) {
    fail("--config: {}", error.what());
  }
  if (std::filesystem::path(path).extension() == ".toml") return parse_plan_toml(text, path);
  return parse_plan_json(text, path);
}

}  // namespace headroom::experiments
