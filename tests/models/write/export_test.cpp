// Edits of every family, written in every format and read back.
#include "models/write/export.h"

#include <fmt/format.h>

#include <filesystem>

#include "engine/ops/concat/concat.h"
#include "models/checkpoints/compact_model.h"
#include "models/files/atomic_file.h"
#include "models/files/file_size.h"
#include "models/gguf/gguf.h"
#include "models/write/convert.h"
#include "models/write/write_compact.h"
#include "tests/models/write/edits.h"
#include "tests/support/error_of.h"
#include "tests/support/folder.h"
#include "tests/support/full_disk.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;
using namespace testing;

constexpr const char* families[] = {
    "llama1",          "llama2-gqa",    "llama3.1", "llama3.2-tied",     "linear-rope",
    "llama-biases",    "smollm2",       "mistral",  "tinyllama-sharded", "qwen2",
    "llama2-gqa.gguf", "llama3.1.gguf", "gpt2",     "gpt2.gguf",         "mistral-window"};

using Change = TransformerConfig (*)(const TransformerConfig&);
constexpr std::pair<const char*, Change> changes[] = {{"factors", testing::with_head_factors},
                                                      {"split", testing::with_split_heads},
                                                      {"pairs", testing::with_fewer_pairs},
                                                      {"values", testing::with_narrow_values}};

double written_and_read(const ModelFiles& base, const ModelEdit& edit, ExportFormat format, const fs::path& to) {
  const Conversion done = export_model(base, edit, format, to);
  CHECK_FALSE(done.rounded);
  return relative_difference(logits_of(*load(base, edit)), logits_of(*ModelFiles::open(to)->load()));
}

}  // namespace

TEST_CASE("every family's edits come back from compat and compact", "[export]") {
  for (const char* family : families) {
    const auto base = ModelFiles::open(checkpoints() / family);
    for (const auto& [name, change] : changes) {
      INFO(family << ", " << name);
      const TemporaryFolder folder;
      const ModelEdit edit = edit_of(*base, change(base->description().config));
      REQUIRE_FALSE(edit.weights.empty());
      CHECK(written_and_read(*base, edit, ExportFormat::compat, folder / "compat") < 1e-5);
      CHECK(written_and_read(*base, edit, ExportFormat::compat, folder / "compat.gguf") < 1e-5);
      CHECK(written_and_read(*base, edit, ExportFormat::compact, folder / "compact") < 1e-5);
      const auto compat = ModelFiles::open(folder / "compat"), compact = ModelFiles::open(folder / "compact");
      CHECK(compat->description().family == base->description().family);
      CHECK(compat->description().config.groups[0].qk_dim == base->description().config.groups[0].qk_dim);
      CHECK(parameter_count(compact->description().config) == parameter_count(edit.config));
      CHECK(compact->description().eos == base->description().eos);
      CHECK(compact->has_tokenizer() == base->has_tokenizer());
      // A compact folder is the base of further edits, and goes to other files as any model does.
      if (base->description().family == "gpt2") continue;
      convert_model(folder / "compact", folder / "converted.gguf");
      CHECK(relative_difference(logits_of(*load(*base, edit)),
                                logits_of(*ModelFiles::open(folder / "converted.gguf")->load())) < 1e-5);
      const ModelEdit more = edit_of(*compact, testing::with_narrow_values(base->description().config));
      CHECK(written_and_read(*compact, more, ExportFormat::compat, folder / "more") < 1e-5);
    }
  }
}

TEST_CASE("norms of queries and keys: what can be padded", "[export]") {
  for (const char* family : {"qwen3", "gemma3", "gemma3.gguf"}) {
    INFO(family);
    const auto base = ModelFiles::open(checkpoints() / family);
    const TemporaryFolder folder;
    const ModelEdit factors = edit_of(*base, testing::with_head_factors(base->description().config));
    CHECK(written_and_read(*base, factors, ExportFormat::compat, folder / "factors") < 1e-5);
    CHECK(written_and_read(*base, factors, ExportFormat::compact, folder / "compact") < 1e-5);
    convert_model(folder / "compact", folder / "converted.gguf");
    CHECK(relative_difference(logits_of(*load(*base, factors)),
                              logits_of(*ModelFiles::open(folder / "converted.gguf")->load())) < 1e-5);
    const TransformerConfig pairs = testing::with_fewer_pairs(base->description().config);
    CHECK_THAT(refusal_of(ExportFormat::compat, *base, pairs, "x"), contains("their norm would be another"));
    CHECK(refusal_of(ExportFormat::compact, *base, pairs, "x").empty());
  }
}

TEST_CASE("narrower heads that turn as such heads do go to other software as they are", "[export]") {
  for (const char* family : {"llama3.1", "smollm2", "llama-biases", "llama2-gqa.gguf"}) {
    INFO(family);
    const auto base = ModelFiles::open(checkpoints() / family);
    const TemporaryFolder folder;
    const TransformerConfig config = testing::with_plain_heads(base->description().config);
    const ModelEdit edit = edit_of(*base, config);
    CHECK(written_and_read(*base, edit, ExportFormat::plain, folder / "plain") < 1e-5);
    CHECK(written_and_read(*base, edit, ExportFormat::plain, folder / "plain.gguf") < 1e-5);
    for (const char* name : {"plain", "plain.gguf"}) {
      const HeadGroup group = ModelFiles::open(folder / name)->description().config.groups[0];
      CHECK(group.qk_dim == config.groups[0].qk_dim);
      CHECK(group.v_dim == config.groups[0].v_dim);
    }
  }
}

TEST_CASE("what a format cannot hold is said before anything is computed", "[export]") {
  const auto base = ModelFiles::open(checkpoints() / "smollm2");
  const TransformerConfig& config = base->description().config;
  const auto refusal = [&](ExportFormat format, const TransformerConfig& edited) {
    return refusal_of(format, *base, edited, "out");
  };
  CHECK(refusal(ExportFormat::compat, config).empty());
  CHECK_THAT(refusal(ExportFormat::compat, testing::with_narrow_scores(config)),
             contains("format compat cannot hold this model: layer 0: queries and keys are mapped to 4 numbers after"));
  CHECK(refusal(ExportFormat::compact, testing::with_narrow_scores(config)).empty());
  CHECK_THAT(refusal(ExportFormat::plain, testing::with_narrow_values(config)),
             contains("some heads still have 8 numbers"));
  TransformerConfig odd = testing::with_plain_heads(config);
  odd.groups[0].rope_frequencies[0] *= 1.01;
  CHECK_THAT(refusal(ExportFormat::plain, odd), contains("a pair turns by 1.01 a position, which no pair left"));
  CHECK_THAT(refusal(ExportFormat::compat, odd), contains("a pair turns by 1.01 a position"));
  TransformerConfig classifier = config;
  classifier.tied = false, classifier.output_dim = 2;
  CHECK_THAT(refusal(ExportFormat::compat, classifier),
             contains("neither one for each of 37 tokens nor a classifier's"));
  CHECK_THAT(refusal_of(ExportFormat::compact, *base, config, "out.gguf"), contains("a compact model is a folder"));
  const auto gpt2 = ModelFiles::open(checkpoints() / "gpt2");
  CHECK_THAT(refusal_of(ExportFormat::plain, *gpt2, gpt2->description().config, "x"), contains("GPT-2's files"));
}

TEST_CASE("compact holds what other files cannot", "[export]") {
  const auto base = ModelFiles::open(checkpoints() / "smollm2");
  const TemporaryFolder folder;
  const ModelEdit scores = edit_of(*base, testing::with_narrow_scores(base->description().config));
  CHECK(written_and_read(*base, scores, ExportFormat::compact, folder / "scores") < 1e-5);
  CHECK_THAT(error_of([&] { convert_model(folder / "scores", folder / "x.gguf"); }), contains("after the rotary turn"));
  CHECK_FALSE(fs::exists(folder / "x.gguf"));
  TransformerConfig classifier = base->description().config;
  classifier.tied = false, classifier.output_dim = 2, classifier.pooling = Pooling::last;
  CHECK(written_and_read(*base, edit_of(*base, classifier), ExportFormat::compact, folder / "classifier") < 1e-5);
  CHECK(ModelFiles::open(folder / "classifier")->description().config.pooling == Pooling::last);
}

TEST_CASE("what an edit leaves alone keeps its bits", "[export]") {
  const TemporaryFolder folder;
  convert_model(checkpoints() / "smollm2", folder / "half.gguf", {.type = WeightType::f16});
  const auto base = ModelFiles::open(folder / "half.gguf");
  const ModelEdit edit = edit_of(*base, testing::with_narrow_values(base->description().config));
  export_model(*base, edit, ExportFormat::compat, folder / "compat.gguf");
  export_model(*base, edit, ExportFormat::compact, folder / "compact");
  const GgufFile compat(folder / "compat.gguf");
  CHECK(compat.type("blk.0.ffn_up.weight") == "F16");
  CHECK(compat.type("blk.0.attn_q.weight") == "F16");
  CHECK(compat.type("blk.0.attn_v.weight") == "F32");
  CHECK(compat.type("blk.1.attn_v.weight") == "F16");
  const auto compact = ModelFiles::open(folder / "compact");
  CHECK(compact->tensors().type("blocks.0.ffn.up.weight") == "F16");
  CHECK(compact->tensors().type("blocks.0.attention.0.v_proj.weight") == "F32");
  export_model(*base, edit, ExportFormat::compact, folder / "narrow", {.type = WeightType::bf16});
  const auto narrow = ModelFiles::open(folder / "narrow");
  CHECK(narrow->tensors().type("blocks.0.attention.0.v_proj.weight") == "BF16");
  CHECK(narrow->tensors().type("blocks.0.ffn.up.weight") == "F16");
}

TEST_CASE("a type is also that of factors, which other edits leave as they lie", "[export]") {
  const auto base = ModelFiles::open(checkpoints() / "smollm2");
  const ModelEdit edit = edit_of(*base, testing::with_head_factors(base->description().config));
  const TemporaryFolder folder;
  const auto type_of = [&](const char* model, const char* name) {
    return ModelFiles::open(folder / model)->tensors().type(fmt::format("blocks.0.{}", name));
  };
  const auto bytes_of = [&](const char* model) {
    return static_cast<int64_t>(fs::file_size(folder / model / "model.safetensors"));
  };
  export_model(*base, edit, ExportFormat::compact, folder / "f32");
  export_model(*base, edit, ExportFormat::compact, folder / "half", {.type = WeightType::f16});
  int64_t numbers = 0;
  for (const auto& [name, tensor] : edit.weights) {
    INFO(name);
    REQUIRE(tensor.rank() == 2);
    numbers += tensor.numel();
    CHECK(ModelFiles::open(folder / "f32")->tensors().type(name) == "F32");
    CHECK(ModelFiles::open(folder / "half")->tensors().type(name) == "F16");
  }
  CHECK(type_of("half", "ffn.up.weight") == "BF16");  // as the base has it
  CHECK(type_of("half", "attention_norm.weight") == "F32");
  // Two bytes less for every number; the header's names of types differ by a few.
  CHECK(std::abs(bytes_of("f32") - bytes_of("half") - 2 * numbers) < 256);
  CHECK(compact_bytes(*base, edit, std::nullopt) - compact_bytes(*base, edit, WeightType::f16) == 2 * numbers);
  CHECK(relative_difference(logits_of(*ModelFiles::open(folder / "half")->load()),
                            logits_of(*ModelFiles::open(folder / "f32")->load())) < 0.05);

  // Another edit of a base with factors in 16 bits keeps those that it does not make anew, bit for bit.
  const auto half = ModelFiles::open(folder / "half");
  TransformerConfig config = half->description().config;
  config.unequal_layers[1].groups[0].v_dim /= 2;
  export_model(*half, edit_of(*half, config), ExportFormat::compact, folder / "more");
  CHECK(type_of("more", "attention.0.q_proj.weight_a") == "F16");
  CHECK(relative_difference(logits_of(*load(*half, edit_of(*half, config))),
                            logits_of(*ModelFiles::open(folder / "more")->load())) < 1e-5);
  // Without an edit a type is that of all matrices, of factors too.
  export_model(*half, {half->description().config, {}}, ExportFormat::compact, folder / "bf16",
               {.type = WeightType::bf16});
  CHECK(type_of("bf16", "attention.0.q_proj.weight_b") == "BF16");
  CHECK(type_of("bf16", "attention_norm.weight") == "F32");
}

TEST_CASE("a model card says what is known, beside the weights", "[export]") {
  const auto base = ModelFiles::open(checkpoints() / "smollm2");
  const ModelEdit edit = edit_of(*base, testing::with_narrow_values(base->description().config));
  const TemporaryFolder folder;
  ModelCard card{
      .base = "smollm2", .base_sha256 = "abc", .made_by = "headroom compress smollm2", .program = "headroom 1.2"};
  card.parts = {{"values and output", "plain", {{"0", "4"}, {"1", "8 (all)"}}}};
  card.notes = {"<script>\n# `x` | [a](javascript:b)\u202E"};
  card.calibration = ModelCard::Text{.file = "`a`\n|b.txt", .sha256 = "", .begin = 0, .end = 1};
  card.measures = {{"perplexity", 30.5, 31.25}, {"mean KL", std::nullopt, 0.125}};
  const ExportOptions options{.card = card};
  export_model(*base, edit, ExportFormat::compact, folder / "compact", options);
  const std::string text = testing::read_bytes(folder / "compact" / "README.md");
  for (const char* line : {"SHA-256 abc", "- made by headroom 1.2: `headroom compress smollm2`",
                           "- values and output: plain", "| 1 | 8 (all) |", "`'a'\\n|b.txt`, tokens 0 to 1",
                           R"(\<script\>\\n\# \`x\` \| \[a\](javascript:b)\\xE2\\x80\\xAE)",
                           "| perplexity | 30.5 | 31.25 |", "| mean KL | - | 0.125 |", "loaded by headroom"})
    CHECK_THAT(text, contains(line));
  export_model(*base, edit, ExportFormat::compat, folder / "m.gguf", options);
  CHECK_THAT(testing::read_bytes(folder / "m.md"), contains("loaded by headroom, llama.cpp"));
  CHECK(
      text.starts_with("---\n# base_model: \"owner/smollm2\"\n# license: \"apache-2.0\"\nlibrary_name: headroom\n"
                       "pipeline_tag: text-generation\ntags: [headroom, compressed]\n"));
  CHECK_THAT(testing::read_bytes(folder / "m.md"), contains("\nlibrary_name: gguf\n"));
  // A license that a model's card says is passed on, quoted, however often a model is made of another.
  const fs::path licensed = folder / "licensed";
  fs::copy(checkpoints() / "smollm2", licensed, fs::copy_options::recursive);
  for (const auto& [said, license] :
       std::vector<std::pair<std::string, std::string>>{{"license: mit\"\\", "mit\"\\"},
                                                        {"license: \"mit\"  # ours", "mit"},
                                                        {"license:   'mit' # ours", "mit"},
                                                        {"license: apache-2.0 # ours\r", "apache-2.0"},
                                                        {R"(license: "a\"b\\")", "a\"b\\"},
                                                        {"license: \"open", ""},
                                                        {"license: 'open", "open"},
                                                        {"license: \"open\\", ""},
                                                        {"license:", ""},
                                                        {"licenses: mit", ""}}) {
    INFO(said);
    testing::write_bytes(licensed / "README.md", "---\nlanguage: en\n" + said + "\n---\nlicense: other\n");
    CHECK(license_of(*ModelFiles::open(licensed)) == license);
  }
  testing::write_bytes(licensed / "README.md", "---\nlicense: mit\"\\\n---\n");
  export_model(*ModelFiles::open(licensed), edit, ExportFormat::compat, folder / "once", options);
  const ModelEdit none{ModelFiles::open(folder / "once")->description().config, {}};
  export_model(*ModelFiles::open(folder / "once"), none, ExportFormat::compat, folder / "twice", options);
  for (const char* made : {"once", "twice"})
    CHECK_THAT(testing::read_bytes(folder / made / "README.md"),
               contains("\nlicense: \"mit\\\"\\\\\"\nlibrary_name: transformers\n"));
  CHECK_THAT(error_of([&] { export_model(*base, edit, ExportFormat::compact, folder / "compact", options); }),
             contains("compact: exists; --force replaces it"));
  fs::remove(folder / "m.gguf");
  CHECK_THAT(error_of([&] { export_model(*base, edit, ExportFormat::compat, folder / "m.gguf", options); }),
             contains("m.md: exists, and is where the model card of"));
  CHECK_FALSE(fs::exists(folder / "m.gguf"));
}

TEST_CASE("where a model cannot be written is said by what checks its name", "[export]") {
  const TemporaryFolder folder;
  const fs::path from = checkpoints() / "smollm2";
  write_file(folder / "file", "x");
  CHECK_THAT(error_of([&] { check_target(from, folder / "none/out", false); }),
             contains("none/out: cannot be written: there is no folder"));
  CHECK_THAT(error_of([&] { check_target(from, folder / "file/out.gguf", false); }),
             contains("file/out.gguf: cannot be written: "));
  CHECK_NOTHROW(check_target(from, folder / "out", false));
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);  // nothing is left behind
}

TEST_CASE("sizes are in the unit that says something", "[export]") {
  CHECK(size_text(0) == "0 B");
  CHECK(size_text(999) == "999 B");
  CHECK(size_text(1000) == "1.0 kB");
  CHECK(size_text(999'949) == "999.9 kB");
  CHECK(size_text(999'950) == "1.0 MB");
  CHECK(size_text(98'412'345) == "98.4 MB");
  CHECK(size_text(999'950'000) == "1.00 GB");
}

TEST_CASE("a disk that fills up leaves nothing behind", "[export]") {
  const auto base = ModelFiles::open(checkpoints() / "smollm2");
  const ModelEdit edit = edit_of(*base, testing::with_narrow_values(base->description().config));
  const TemporaryFolder folder;
  for (const ExportFormat format : {ExportFormat::compat, ExportFormat::compact}) {
    INFO(name_of(format));
    const testing::FullDisk disk(4096);
    CHECK_THAT(error_of([&] { export_model(*base, edit, format, folder / "out"); }), contains("File too large"));
    CHECK(fs::is_empty(folder.path()));
  }
}

TEST_CASE("matrices in blocks: kept, and picked rows of them stay in blocks", "[export]") {
  // Rows of 32, which the checkpoints lack.
  ModelDescription model = ModelFiles::open(checkpoints() / "smollm2")->description();
  TransformerConfig& c = model.config;
  c.width = 32, c.groups = {{.heads = 4, .qk_dim = 8, .v_dim = 8, .kv_heads = 2}}, c.ffn_width = 64;
  engine::Rng rng(3);
  const TemporaryFolder folder;
  fs::create_directory(folder / "f32");
  write_file(folder / "f32/config.json", compact_config_json(model, c));
  write_safetensors(folder / "f32/model.safetensors", Transformer(c, rng).weights());
  export_model(*ModelFiles::open(folder / "f32"), {c, {}}, ExportFormat::compact, folder / "q8",
               {.type = WeightType::q8_0});
  const auto base = ModelFiles::open(folder / "q8");
  CHECK(base->tensors().type("blocks.0.ffn.up.weight") == "q8_0");

  // Two pairs of each head's four in the first layer, in two groups; new values in the second.
  ModelEdit edit{testing::with_own_layers(c), {}};
  edit.config.logit_scale = 1 / std::sqrt(8.0);
  LayerConfig& first = edit.config.unequal_layers[0];
  const std::vector<double> all = rope_frequencies(c, c.groups[0], 0);
  first.groups.assign(2, {.heads = 2, .qk_dim = 4, .v_dim = 8, .kv_heads = 1, .rope_frequencies = {all[0], all[2]}});
  const auto whole = base->load();
  const auto picked = [&](const Weight& from, int64_t begin, int64_t end, const std::vector<int64_t>& keep) {
    std::vector<Tensor> rows;
    for (int64_t head = begin; head < end; ++head)
      for (const int64_t row : keep)
        rows.push_back(from.values(engine::DType::f32).slice(0, 8 * head + row, 8 * head + row + 1));
    return engine::concat(rows, 0);
  };
  const HeadGroupLayer& heads = whole->attention(0).group(0);
  const std::vector<int64_t> pairs{0, 2, 4, 6}, values{0, 1, 2, 3, 4, 5, 6, 7};
  for (int64_t g = 0; g < 2; ++g) {
    const std::string at = fmt::format("blocks.0.attention.{}.", g);
    edit.weights.emplace_back(at + "q_proj.weight", picked(heads.q_proj().weight(), 2 * g, 2 * g + 2, pairs));
    edit.weights.emplace_back(at + "k_proj.weight", picked(heads.k_proj().weight(), g, g + 1, pairs));
    edit.weights.emplace_back(at + "v_proj.weight", picked(heads.v_proj().weight(), g, g + 1, values));
  }
  edit.weights.emplace_back("blocks.1.attention.0.v_proj.weight", Tensor::full({16, 32}, 0.125));
  CHECK(written_and_read(*base, edit, ExportFormat::compact, folder / "edited") < 1e-5);
  const auto written = ModelFiles::open(folder / "edited");
  for (const char* name : {"0.attention.0.q_proj", "0.attention.1.k_proj", "0.attention.1.v_proj", "1.ffn.down"})
    CHECK(written->tensors().type(fmt::format("blocks.{}.weight", name)) == "q8_0");
  CHECK(written->tensors().type("blocks.1.attention.0.v_proj.weight") == "F32");
  CHECK(written_and_read(*base, edit, ExportFormat::compat, folder / "edited.gguf") < 1e-5);
}

}  // namespace headroom::models
