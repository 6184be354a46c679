#include "experiments/plan/model_config.h"

#include <filesystem>

#include "engine/error.h"
#include "experiments/config/bind.h"
#include "experiments/toml/document.h"
#include "experiments/toml/reader.h"
#include "models/files/mapped_file.h"
#include "models/hugging_face/config.h"
#include "models/validate.h"

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
    if (problems.empty()) in.attempt("model", [&] { models::validate(model.config); });
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
  constexpr size_t most_bytes = size_t(1) << 24;
  std::error_code unreadable;
  require(std::filesystem::exists(path, unreadable), "--config: {}: there is no such file", path);
  require(std::filesystem::is_regular_file(path, unreadable), "--config: {}: not a regular file", path);
  const models::MappedFile file(path);
  require(file.size() <= most_bytes, "--config: {}: {} bytes, wants at most {}", path, file.size(), most_bytes);
  if (std::filesystem::path(path).extension() == ".toml") return parse_plan_toml(std::string(file.text()), path);
  return parse_plan_json(file.text(), path);
}

}  // namespace headroom::experiments
