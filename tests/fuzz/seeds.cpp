/// Writes the seeds that fuzzing begins from, small files of every kind in a folder per target: fuzz-seeds FOLDER.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine/quantized/block_format.h"
#include "engine/tensor.h"
#include "experiments/studies/config/trial_config.h"
#include "experiments/studies/export/protobuf.h"
#include "experiments/studies/export/published.h"
#include "models/checkpoints/compact_model.h"
#include "models/checkpoints/model_files.h"
#include "models/gguf/gguf.h"
#include "models/safetensors/safetensors.h"
#include "models/tokenizers/byte_alphabet.h"
#include "models/tokenizers/sentencepiece_model.h"
#include "tests/models/small_tokenizers.h"

namespace headroom::fuzz {
namespace {

namespace fs = std::filesystem;
using engine::BlockFormat;
using engine::DType;
using engine::QuantizedMatrix;
using engine::Tensor;
using models::GgufValue;
using models::GgufValueType;
using Json = nlohmann::json;

void write(const fs::path& path, const std::string& bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

GgufValue number(int64_t value) { return {GgufValueType::u32, false, std::vector<int64_t>{value}}; }
GgufValue fraction(double value) { return {GgufValueType::f32, false, std::vector<double>{value}}; }
GgufValue text(const std::string& value) { return {GgufValueType::string, false, std::vector<std::string>{value}}; }
GgufValue texts(const std::vector<std::string>& values) { return {GgufValueType::string, true, values}; }

void write_safetensors_seeds(const fs::path& folder) {
  fs::create_directories(folder);
  for (const DType dtype :
       {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i64, DType::i32, DType::u8, DType::boolean})
    models::write_safetensors(
        folder / engine::name_of(dtype),
        {{"a.weight", Tensor::zeros({2, 3}, dtype)}, {"b", Tensor::zeros({}, dtype)}, {"c", Tensor::zeros({0, 4})}},
        {{"format", "pt"}});
}

void write_index_seeds(const fs::path& folder) {
  write(folder / "index", R"({"metadata": {"total_size": 44}, "weight_map": {"a": "model-00001-of-00002.safetensors",
    "b": "model-00002-of-00002.safetensors", "c": "model-00002-of-00002.safetensors"}})");
}

/// A llama of one layer and width 32, its matrices in blocks of the format; a vocabulary of byte-level tokens or of
/// SentencePiece's. `is_uneven`: a second layer without heads and network.
void write_gguf_seed(const fs::path& path, BlockFormat format, bool has_pieces, bool is_uneven = false) {
  const std::string at = is_uneven ? "deci." : "llama.";
  const auto count = [&](int64_t value) {
    if (!is_uneven) return number(value);
    return models::GgufValue{GgufValueType::i32, true, std::vector<int64_t>{value, 0}};
  };
  const int64_t width = engine::traits_of(format).elements == 256 ? 256 : 32, vocab = 12;
  std::mt19937 random(7);
  const auto matrix = [&](int64_t rows, int64_t cols) {
    const engine::BlockTraits& traits = engine::traits_of(format);
    std::vector<uint8_t> bytes(static_cast<size_t>(rows * cols / traits.elements * traits.bytes));
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    return QuantizedMatrix(format, rows, cols, Tensor::from({static_cast<int64_t>(bytes.size())}, bytes));
  };
  const models::GgufPairs pairs{
      {"general.architecture", text(is_uneven ? "deci" : "llama")},
      {at + "block_count", number(is_uneven ? 2 : 1)},
      {at + "context_length", number(16)},
      {at + "embedding_length", number(width)},
      {at + "feed_forward_length", count(width)},
      {at + "attention.head_count", count(2)},
      {at + "attention.head_count_kv", count(1)},
      {at + "attention.key_length", number(width / 2)},
      {at + "attention.layer_norm_rms_epsilon", fraction(1e-5)},
      {at + "rope.freq_base", fraction(1e4)},
      {"tokenizer.ggml.model", text(has_pieces ? "llama" : "gpt2")},
      {"tokenizer.ggml.pre", text("smollm")},
      {"tokenizer.ggml.tokens", texts({"<unk>", "<s>", "t", "h", "e", "th", "the", "a", "c", "\u0120", "1", "<0x0A>"})},
      {"tokenizer.ggml.token_type",
       {GgufValueType::i32, true, std::vector<int64_t>{2, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 6}}},
      {"tokenizer.ggml.scores", {GgufValueType::f32, true, std::vector<double>(vocab, -1)}},
      {"tokenizer.ggml.merges", texts({"t h", "th e"})},
      {"tokenizer.ggml.bos_token_id", number(1)},
      {"tokenizer.chat_template", text("{{ '<|im_start|>' }}")}};
  models::StoredTensors tensors{{"token_embd.weight", matrix(vocab, width)},
                                {"output_norm.weight", Tensor::full({width}, 1)}};
  for (const char* name : {"attn_norm", "ffn_norm"})
    tensors.emplace_back(std::string("blk.0.") + name + ".weight", Tensor::full({width}, 1));
  for (const char* name : {"attn_q", "attn_output", "ffn_gate", "ffn_up", "ffn_down"})
    tensors.emplace_back(std::string("blk.0.") + name + ".weight", matrix(width, width));
  for (const char* name : {"attn_k", "attn_v"})
    tensors.emplace_back(std::string("blk.0.") + name + ".weight", matrix(width / 2, width));
  models::write_gguf(path, pairs, tensors);
}

void write_gguf_seeds(const fs::path& folder) {
  fs::create_directories(folder);
  for (const BlockFormat format : {BlockFormat::q8_0, BlockFormat::q4_1, BlockFormat::f16})
    for (const bool has_pieces : {false, true})
      write_gguf_seed(folder / (std::string(engine::traits_of(format).name) + (has_pieces ? "-pieces" : "-bytes")),
                      format, has_pieces);
  write_gguf_seed(folder / "uneven", BlockFormat::q8_0, true, true);
}

void write_tokenizer_seeds(const fs::path& folder) {
  const std::vector<std::string> merges{"t h", "th e"};
  Json json{{"version", "1.0"},
            {"normalizer", {{"type", "NFC"}}},
            {"pre_tokenizer",
             {{"type", "Sequence"},
              {"pretokenizers",
               {{{"type", "Digits"}, {"individual_digits", true}},
                {{"type", "Split"}, {"pattern", {{"Regex", "[^a-z]"}}}, {"behavior", "Isolated"}, {"invert", false}},
                {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}}}}},
            {"added_tokens", {{{"id", 260}, {"content", "<s>"}, {"special", true}}}},
            {"model", {{"type", "BPE"}, {"vocab", testing::small_vocabulary(merges, {})}, {"merges", merges}}}};
  write(folder / "byte-level", json.dump());
  json["model"]["vocab"] = {{"<unk>", 0}, {"t", 1},   {"h", 2},      {"e", 3},
                            {"th", 4},    {"the", 5}, {"<0x0A>", 6}, {"\u2581", 7}};
  json["model"]["byte_fallback"] = true;
  json["model"]["unk_token"] = "<unk>";
  json["normalizer"] = {{"type", "Sequence"},
                        {"normalizers",
                         {{{"type", "Prepend"}, {"prepend", "\u2581"}},
                          {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}}}}};
  json["pre_tokenizer"] = nullptr;
  json["added_tokens"] = {{{"id", 0}, {"content", "<unk>"}, {"special", true}}};
  write(folder / "byte-fallback", json.dump());
}

void write_sentencepiece_seeds(const fs::path& folder) {
  models::SentencePieceModel model;
  model.remove_extra_whitespaces = false;
  model.pieces = {{"<unk>", 0, models::PieceKind::unknown},
                  {"<s>", 0, models::PieceKind::control},
                  {"<tool>", 0, models::PieceKind::user_defined}};
  for (const char* piece : {"t", "h", "e", "th", "the", "\u2581", "\u2581the"})
    model.pieces.push_back({piece, -static_cast<float>(model.pieces.size()), models::PieceKind::normal});
  write(folder / "unigram", models::serialized(model));
  model.kind = models::SentencePieceModel::Kind::bpe;
  model.byte_fallback = true;
  for (int byte = 0; byte < 256; ++byte)
    model.pieces.push_back({fmt::format("<0x{:02X}>", byte), 0, models::PieceKind::byte});
  write(folder / "bpe", models::serialized(model));
}

void write_template_seeds(const fs::path& folder) {
  fs::create_directories(folder);
  for (const auto& entry : fs::directory_iterator(fs::path(HEADROOM_SOURCE_ROOT) / "tests/models/jinja/templates"))
    fs::copy_file(entry.path(), folder / entry.path().filename(), fs::copy_options::overwrite_existing);
}

void write_config_seeds(const fs::path& folder) {
  fs::create_directories(folder);
  const fs::path checkpoints = fs::path(HEADROOM_SOURCE_ROOT) / "tests/models/pretrained/checkpoints";
  for (const auto& entry : fs::directory_iterator(checkpoints))
    if (const fs::path config = entry.path() / "config.json"; fs::exists(config))
      fs::copy_file(config, folder / entry.path().filename(), fs::copy_options::overwrite_existing);
}

/// Compact models of the small ones: heads with factors of their own, groups that differ from layer to layer.
void write_compact_seeds(const fs::path& folder) {
  const fs::path checkpoints = fs::path(HEADROOM_SOURCE_ROOT) / "tests/models/pretrained/checkpoints";
  for (const char* name : {"smollm2", "llama3.1.gguf", "qwen3", "gpt2"}) {
    models::ModelDescription model = models::ModelFiles::open(checkpoints / name)->description();
    const models::TransformerConfig full = model.config;
    write(folder / name, models::compact_config_json(model, full));
    models::TransformerConfig& c = model.config;
    c.unequal_layers = models::layers_of(full);
    c.groups.clear(), c.ffn_width = 0;
    models::HeadGroup& group = c.unequal_layers[0].groups[0];
    group.q_head_rank = 2, group.k_rank = 1, group.score_dim = 2;
    if (group.heads > group.key_value_heads()) group.joined_keys = group.heads / group.key_value_heads();
    c.logit_scale = 0.25;
    write(folder / (std::string(name) + "-edited"), models::compact_config_json(model, full));
  }
}

/// The same two trials whole and without curves, as gzip; and their lines, which bytes can be changed in.
void write_published_seeds(const fs::path& folder) {
  experiments::PublishedRun run;
  run.study = "small";
  run.profile = "quick";
  run.tags = {"final"};
  run.notes = {{0, "2026-01-02 03:04:05", "a note"}};
  std::set<std::string> ids;
  std::map<std::string, experiments::TrialRecord> trials;
  for (const char* config : {R"({"seed":1})", R"({"seed":2})"}) {
    experiments::TrialRecord r;
    r.attempts = 1;
    r.config = config;
    r.id = experiments::trial_id_of(config);
    r.history = {{1, "train", "loss", 0.5}, {2, "train", "loss", 0.1}};
    r.validation = r.test = {{"mse", 0.1}};
    r.test_parts = {{"mse", {0.1, 0.2}}};
    r.predictions = {{1, 0.5}};
    r.data = {{"text", "ab"}};
    run.plan.push_back({r.id, "", "seed=1", 1, {{"lr", 0.1}}, 1});
    ids.insert(r.id);
    trials[r.id] = r;
  }
  run.plan.push_back({std::string(32, 'f'), "s", "missing", 2, {}, 3});
  for (const bool is_whole : {true, false}) {
    run.is_whole = is_whole;
    const fs::path path = folder / (is_whole ? "whole" : "findings");
    experiments::PublishedWriter writer(path, run, ids);
    for (const auto& [id, trial] : trials) writer.add(trial);
    writer.commit();
    experiments::LineReader lines(path);
    std::string text;
    for (std::string line; lines.next(line);) text += line + "\n";
    write(path.string() + ".jsonl", text);
  }
}

/// The test data of `headroom judge`, each file behind the byte that picks its reader in judged_runs.cpp; of logs with
/// checksums also the records, between the bytes that part them there.
void write_judge_seeds(const fs::path& folder) {
  const fs::path data = fs::path(HEADROOM_SOURCE_ROOT) / "tests/experiments/judge/data";
  const auto add = [&](char reader, const std::string& name, const std::string& bytes) {
    write(folder / name, reader + bytes);
  };
  const auto add_all = [&](const char* part, std::initializer_list<char> readers, const std::string& end) {
    int count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(data / part)) {
      if (!entry.is_regular_file() || !entry.path().string().ends_with(end) || ++count > 2) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(in), {}};
      for (const char reader : readers) add(reader, fmt::format("{}-{}-{}", part, int{reader}, count), bytes);
    }
  };
  add_all("tensorboard", {2}, "");
  add_all("wandb", {4}, ".wandb");
  add_all("wandb-versions/0.12.21", {4}, ".wandb");
  add_all("lm-eval", {7, 1}, ".json");
  add_all("hydra", {8}, "config.yaml");
  add_all("hydra", {0}, ".csv");
  add_all("mlruns", {9}, "meta.yaml");
  add_all("mlruns", {10}, "loss");
  for (const auto& [reader, name] :
       {std::pair{char{0}, "runs.csv"}, {char{11}, "mlflow.db"}, {char{11}, "optuna.db"}, {char{6}, "optuna.log"}}) {
    std::ifstream in(data / name, std::ios::binary);
    add(reader, name, {std::istreambuf_iterator<char>(in), {}});
  }
  add(1, "lines", "{\"step\": 1, \"loss\": NaN, \"config\": {\"lr\": 1e-3}}\n{\"step\": 2, \"loss\": 0.5}\n");
  add(8, "yaml", "a: &b {c: [1, ~, 'd'], e: \"f\\n\"}\n? g\n: |\n  h\ni: *b\n--- !!str\n");
  const std::string between("\xFF\x00|\n", 4);
  using experiments::ProtoMessage;
  const ProtoMessage scalar = ProtoMessage().text(1, "loss").single(2, 0.5F);
  const std::string event =
      ProtoMessage().real(1, 1e9).integer(2, 7).message(5, ProtoMessage().message(1, scalar)).bytes();
  add(3, "events", event + between + event);
  const ProtoMessage item = ProtoMessage().text(1, "loss").text(16, "0.5"), step = ProtoMessage().integer(1, 3);
  const ProtoMessage config = ProtoMessage().message(1, ProtoMessage().text(1, "a").text(16, "{\"lr\": 0.1}"));
  const ProtoMessage run =
      ProtoMessage().message(4, config).text(8, "name").message(17, ProtoMessage().integer(1, 1000));
  add(5, "wandb-records",
      ProtoMessage().message(17, run).bytes() + between +
          ProtoMessage().message(2, ProtoMessage().message(1, item).message(2, step)).bytes() + between +
          ProtoMessage().message(18, ProtoMessage().integer(1, 0).integer(2, 9)).bytes());
}

/// Valid files of many small parts, for readers whose time must not grow with the square of their number. They are
/// replayed, and no seeds of fuzzing, whose inputs are small.
void write_large(const fs::path& folder) {
  std::vector<std::pair<std::string, Tensor>> tensors;
  Json shards = Json::object(), added = Json::array(), config{{"model_type", "gpt2"}, {"lists", Json::array()}};
  for (int i = 0; i < 300'000; ++i) {
    const std::string name = fmt::format("<{}>", i);
    if (i < 60'000) tensors.emplace_back(name, Tensor::zeros({0}));
    if (i < 100'000) shards[name] = "model.safetensors";
    if (i < 100'000) added.push_back({{"id", 300 + i}, {"content", name}});
    config["lists"].push_back(Json::object());
  }
  Json names = Json::object();
  std::string journal = "\x06{\"op_code\":0,\"study_name\":\"s\"}\n";
  std::string yaml = "\x08";
  for (int i = 0; i < 60'000; ++i) {
    names[fmt::format("n{}", i)] = i;
    journal += "{\"op_code\":4,\"study_id\":0}\n";
    yaml += fmt::format("n{}: {}\n", i, i);
  }
  write(folder / "judged_runs/names", '\x01' + names.dump());
  write(folder / "judged_runs/journal", journal);
  write(folder / "judged_runs/yaml", yaml);
  fs::create_directories(folder / "safetensors");
  models::write_safetensors(folder / "safetensors/tensors", tensors, {});
  write(folder / "shard_index/tensors", Json{{"weight_map", shards}}.dump());
  write(folder / "config_json/lists", config.dump());
  const Json model{{"type", "BPE"}, {"vocab", testing::small_vocabulary({}, {})}, {"merges", Json::array()}};
  write(folder / "tokenizer_json/added",
        Json{{"pre_tokenizer", {{"type", "ByteLevel"}}}, {"added_tokens", added}, {"model", model}}.dump());
}

}  // namespace
}  // namespace headroom::fuzz

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: fuzz-seeds FOLDER\n");
    return 2;
  }
  const std::filesystem::path folder(argv[1]);
  headroom::fuzz::write_safetensors_seeds(folder / "safetensors");
  headroom::fuzz::write_index_seeds(folder / "shard_index");
  headroom::fuzz::write_gguf_seeds(folder / "gguf");
  headroom::fuzz::write_config_seeds(folder / "config_json");
  headroom::fuzz::write_compact_seeds(folder / "compact_config");
  headroom::fuzz::write_tokenizer_seeds(folder / "tokenizer_json");
  headroom::fuzz::write_sentencepiece_seeds(folder / "sentencepiece_model");
  headroom::fuzz::write_template_seeds(folder / "chat_template");
  headroom::fuzz::write_published_seeds(folder / "published_trials");
  headroom::fuzz::write_judge_seeds(folder / "judged_runs");
  headroom::fuzz::write_large(folder / "large");
  return 0;
}
