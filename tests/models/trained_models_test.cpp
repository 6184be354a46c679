// Trained models, where their files are (`headroom data fetch models`), against transformers: gemma3.json and the two
// qwen2.5-coder-*.json in tests/golden, which make_trained.py writes.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/context.h"
#include "engine/ops/log_softmax/log_softmax.h"
#include "models/checkpoints/model_files.h"
#include "models/model_cache.h"
#include "tests/support/catch.h"
#include "tests/support/distance.h"
#include "tests/support/folder.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// Below models/ of HEADROOM_DATA; "" where it is not.
fs::path trained_file(const char* name) {
  const char* data = std::getenv("HEADROOM_DATA");
  const fs::path file = fs::path(data != nullptr ? data : "") / "models" / name;
  return data != nullptr && fs::exists(file) ? file : fs::path();
}

Tensor row_of(const std::vector<int64_t>& ids) {
  return Tensor::from({1, static_cast<int64_t>(ids.size())}, ids);  // (1, T)
}

/// Largest difference of the likeliest logits, and of log-sum-exps, at the positions that the reference names.
double worst_difference(const Transformer& model, const Json& text) {
  const autograd::NoGrad no_grad;
  Var h = model.embed(row_of(text["ids"].get<std::vector<int64_t>>()));
  for (int64_t i = 0; i < model.config().layers; ++i) h = model.layer(static_cast<size_t>(i), h);
  double worst = 0;
  for (size_t i = 0; i < text["positions"].size(); ++i) {
    const auto at = text["positions"][i].get<int64_t>();
    const Tensor logits = model.readout(Var(h.value().slice(1, at, at + 1).contiguous())).value();  // (1, 1, V)
    const float* z = logits.data<float>();
    worst = std::max(worst, testing::apart(engine::log_sum_exp(z, logits.dim(2)), text["logsumexp"][i].get<double>()));
    for (const Json& known : text["top10"][i])
      worst = std::max(worst, testing::apart(z[known[0].get<int64_t>()], known[1].get<double>()));
  }
  return worst;
}

/// `count` tokens, each the likeliest after those before it.
std::vector<int64_t> greedy(const Transformer& model, std::vector<int64_t> ids, size_t count, bool rolls) {
  ModelCache state(model.config(), rolls);
  std::vector<int64_t> made;
  while (made.size() < count) {
    const Tensor logits = model.decode(row_of(ids), state, {}, 1);  // (1, 1, V)
    const float* z = logits.data<float>();
    made.push_back(std::max_element(z, z + logits.dim(2)) - z);
    ids = {made.back()};
  }
  return made;
}

/// Tokens, logits and continuations are those of transformers. The reference's texts begin with what a model puts in
/// front of every text.
void check_known(const ModelFiles& files, const Json& known) {
  const ModelDescription& description = files.description();
  const auto tokenizer = files.tokenizer();
  for (const Json& text : known["strings"]) {
    INFO(text["text"]);
    CHECK(tokenizer->encode(text["text"].get<std::string>()) == text["ids"].get<std::vector<int32_t>>());
    CHECK(tokenizer->decode(text["ids"].get<std::vector<int32_t>>()) == text["text"].get<std::string>());
  }
  const engine::ActivationsScope exact(engine::Activations::exact);
  const auto model = files.load();
  for (const Json& text : known["texts"]) {
    INFO(text["text"]);
    const auto ids = text["ids"].get<std::vector<int64_t>>();
    std::vector<int32_t> own =
        description.with_begin(tokenizer->encode(text["text"].get<std::string>(), Specials::plain));
    own.resize(std::min(own.size(), ids.size()));  // the long text goes on behind the tokens of the reference
    CHECK(std::vector<int64_t>(own.begin(), own.end()) == ids);
    CHECK(worst_difference(*model, text) < 1e-3);
    const auto wanted = text["greedy20"].get<std::vector<int64_t>>();
    const std::vector<int64_t> prompt(ids.begin(), ids.begin() + text["greedy20_after_first"].get<int64_t>());
    CHECK(greedy(*model, prompt, wanted.size(), true) == wanted);
    // Gemma's is longer than its window: with and without a cache that forgets.
    CHECK(greedy(*model, ids, 8, true) == greedy(*model, ids, 8, false));
  }
}

/// Runs `check` on the model and on its reference.
template <class Check>
void with_trained(const char* name, const char* reference, const Check& check) {
  const fs::path path = trained_file(name);
  if (path.empty()) return testing::skip(std::string("no models/") + name + " under HEADROOM_DATA");
  check(*ModelFiles::open(path),
        Json::parse(testing::read_bytes(testing::source_root() + "/tests/golden/" + reference)));
}

}  // namespace

TEST_CASE("Gemma 3 270M is what transformers computes", "[trained]") {
  with_trained("gemma-3-270m-q4_k_m.gguf", "gemma3.json", [](const ModelFiles& files, const Json& known) {
    const ModelDescription& description = files.description();
    CHECK(description.config.window == 512);
    CHECK(description.config.full_layers == std::vector<int64_t>{5, 11, 17});
    CHECK(description.text_begin() == 2);
    CHECK(files.tokenizer()->vocab_size() == 262144);
    check_known(files, known);
  });
}

TEST_CASE("Qwen2.5-Coder 0.5B is what transformers computes", "[trained]") {
  with_trained("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf", "qwen2.5-coder-0.5b.json", check_known);
}

TEST_CASE("Qwen2.5-Coder 1.5B is what transformers computes", "[trained]") {
  with_trained("qwen2.5-coder-1.5b-instruct-q4_k_m.gguf", "qwen2.5-coder-1.5b.json", check_known);
}

}  // namespace headroom::models
