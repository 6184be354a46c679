#include "experiments/studies/config/tasks/pretrained.h"

#include <filesystem>

#include "engine/error.h"
#include "experiments/studies/config/tasks/registry.h"

namespace headroom::experiments {

std::string beside_study(Reader& in, const std::string& key, const std::string& path) {
  if (path.empty()) return path;
  const std::filesystem::path beside = std::filesystem::path(in.place(key).source).parent_path() / path;
  std::error_code unreadable;  // counts as absent
  return std::filesystem::exists(beside, unreadable) ? beside.lexically_normal().string() : path;
}

tasks::StudiedModelConfig bind_studied_model(Reader& in) {
  tasks::StudiedModelConfig model;
  const std::string name = in.text("model", std::nullopt,
                                   "a GGUF file or a Hugging Face folder: a path, from the study's folder or the "
                                   "working directory, or a name below models/ of a data folder");
  model.model = beside_study(in, "model", name);
  model.is_random = in.word("weights", "trained", {"trained", "random"},
                            "the model's own, or a copy of its shape with weights N(0, 0.02^2)") == "random";
  return model;
}

tasks::StudiedTextConfig bind_studied_text(Reader& in, const std::string& usual) {
  tasks::StudiedTextConfig text;
  text.text = in.text("text", usual,
                      "what it reads: a path, or a name below a data folder; \"random\": tokens drawn uniformly");
  text.text = beside_study(in, "text", text.text);
  text.spans = in.text("spans", text.spans,
                       "a JSON file {\"512\": [first token of each span, ...]}, by length; \"\": drawn from the text");
  text.spans = beside_study(in, "spans", text.spans);
  return text;
}

namespace {

tasks::TaskConfig bind_attention_heads(Reader& in) {
  using tasks::StudiedQuery;
  tasks::AttentionHeadsConfig task;
  task.model = bind_studied_model(in);
  task.text = bind_studied_text(in);
  task.length = in.integer("length", task.length, {.low = 2, .high = most}, "tokens of a span, L");
  task.at =
      in.choice("at", task.at,
                {{"last", StudiedQuery::last}, {"middle", StudiedQuery::middle}, {"numbered", StudiedQuery::numbered}},
                "the query that is looked at: L - 1 or L/2, counted from 0, or task.query");
  in.when(task.at == StudiedQuery::numbered, "with at = \"numbered\"",
          [&] { task.query = in.integer("query", std::nullopt, count, "counted from 1: it sees so many keys"); });
  task.spans = in.integer("average", task.spans, count, "spans in a trial: with 1, each seed is a span of its own");
  task.layer = in.integer("layer", task.layer, {.low = 0}, "of the head that is named alone");
  task.head = in.integer("index", task.head, {.low = 0}, "its number in the layer");
  in.optional_table("trend", "how a measure goes from head to head", [&](Reader& trend) {
    task.trend = trend.word("of", "jacobian_norm", tasks::head_measures(), "the measure");
    task.from = trend.integer("from", task.from, {.low = 2, .high = most},
                              "smallest length (query where it is numbered); then doubled up to the trial's own");
    task.band_low = trend.real("low", task.band_low, {}, "heads_in_band counts heads with all values from here");
    task.band_high = trend.real("high", task.band_high, {}, "to here");
  });
  in.attempt("length", [&] { tasks::validate(task); });
  return task;
}

tasks::TaskConfig bind_head_spectra(Reader& in) {
  tasks::SpectraStudyConfig task;
  task.model = bind_studied_model(in);
  task.text = bind_studied_text(in);
  task.length = in.integer("length", task.length, {.low = 2, .high = most}, "tokens of a span");
  task.spans = in.integer("average", task.spans, count, "spans that the activations of a trial are taken from");
  task.layer = in.integer("layer", task.layer, {.low = 0}, "whose heads are looked at");
  task.energy = in.real("energy", task.energy, {.low = 0, .high = 1, .low_open = true},
                        "share of the squared singular values that an effective rank holds");
  task.rank = in.integer("rank", task.rank, count, "X_energy is the share that so many values hold");
  in.attempt("length", [&] { tasks::validate(task); });
  return task;
}

TaskWords attention_heads_words(const TaskJson&) {
  return {
      "A trained model reads spans of text, and each of its attention heads is measured. Nothing "
      "is trained."};
}

TaskWords head_spectra_words(const TaskJson&) {
  return {
      "How many dimensions the heads of a trained model use, by the singular values of their "
      "matrices and scores. Nothing is trained."};
}

}  // namespace

const TaskKind attention_heads_task{"attention-heads", bind_attention_heads, attention_heads_words};
const TaskKind head_spectra_task{"head-spectra", bind_head_spectra, head_spectra_words};

}  // namespace headroom::experiments
