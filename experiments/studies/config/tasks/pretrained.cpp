#include "experiments/studies/config/tasks/pretrained.h"

#include "experiments/studies/config/shipped_files.h"
#include "experiments/studies/config/tasks/registry.h"

namespace headroom::experiments {

void set_file(Reader& in, const char* key, std::string& path, const char* doc) {
  in.set(key, path, doc);
  path = beside_study(in, key, path);
}

tasks::StudiedModelConfig bind_studied_model(Reader& in) {
  tasks::StudiedModelConfig model;
  model.model = in.text("model", std::nullopt,
                        "a GGUF file or a Hugging Face folder: a path, from the study's folder or the working "
                        "directory, or a name below models/ of a data folder");
  model.model = beside_study(in, "model", model.model);
  model.is_random = in.word("weights", "trained", {"trained", "random"},
                            "the model's own, or a copy of its shape with weights N(0, 0.02^2)") == "random";
  return model;
}

tasks::StudiedTextConfig bind_studied_text(Reader& in, const tasks::StudiedTextConfig& usual) {
  tasks::StudiedTextConfig text{.text = usual.text};
  set_file(in, "text", text.text,
           "what it reads: a path, or a name below a data folder; \"random\": tokens drawn uniformly");
  set_file(in, "spans", text.spans,
           "a JSON file {\"512\": [first token of each span, ...]}, by length; \"\": drawn from the text");
  return text;
}

namespace {

tasks::TaskConfig bind_attention_heads(Reader& in) {
  using tasks::StudiedQuery;
  tasks::AttentionHeadsConfig task;
  task.model = bind_studied_model(in);
  task.text = bind_studied_text(in);
  in.set("length", task.length, {.low = 2, .high = most}, "tokens of a span, L");
  in.set("at", task.at,
         {{"last", StudiedQuery::last}, {"middle", StudiedQuery::middle}, {"numbered", StudiedQuery::numbered}},
         "the query that is looked at: L - 1 or L/2, counted from 0, or task.query");
  in.when(task.at == StudiedQuery::numbered, "with at = \"numbered\"",
          [&] { task.query = in.integer("query", std::nullopt, count, "counted from 1: query l sees l keys"); });
  in.set("average", task.spans, count, "spans in a trial: with 1, each seed is a span of its own");
  in.set("layer", task.layer, {.low = 0}, "of the head reported by itself");
  in.set("index", task.head, {.low = 0}, "its number in the layer");
  in.optional_table("trend", "how each head's measure changes with length or query", [&](Reader& trend) {
    task.trend = trend.word("of", "jacobian_norm", tasks::head_measures(), "the measure");
    trend.set("from", task.from, {.low = 2, .high = most},
              "smallest length (query where it is numbered); then doubled up to the trial's own");
    trend.set("low", task.band_low, {}, "heads_in_band counts heads with all values from here");
    trend.set("high", task.band_high, {}, "to here");
  });
  return checked(in, "length", task);
}

tasks::TaskConfig bind_head_spectra(Reader& in) {
  tasks::SpectraConfig task;
  task.model = bind_studied_model(in);
  task.text = bind_studied_text(in);
  in.set("length", task.length, {.low = 2, .high = most}, "tokens of a span");
  in.set("average", task.spans, count, "spans that the activations of a trial are taken from");
  in.set("layer", task.layer, {.low = 0}, "whose heads are looked at");
  in.set("energy", task.energy, {.low = 0, .high = 1, .low_open = true},
         "share of the squared singular values that an effective rank holds");
  in.set("rank", task.rank, count, "X_energy is the share that so many values hold");
  return checked(in, "length", task);
}

}  // namespace

const TaskKind attention_heads_task{
    "attention-heads", bind_attention_heads,
    always("A trained model reads spans of text, and each of its attention heads is measured. Nothing is trained.")};
const TaskKind head_spectra_task{"head-spectra", bind_head_spectra,
                                 always("How many dimensions the heads of a trained model use, by the singular values "
                                        "of their matrices and scores. Nothing is trained.")};

}  // namespace headroom::experiments
