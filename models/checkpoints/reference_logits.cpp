#include "models/checkpoints/reference_logits.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/error.h"
#include "models/files/json.h"
#include "models/model_cache.h"

namespace headroom::models {
namespace {

constexpr size_t most_listed = 10;
constexpr int64_t greedy_tokens = 20;

/// The logits after each of the ids, one row each: f32 (T, V). Throws Error where one is not finite.
Tensor logits_after(const Transformer& model, ModelCache& state, const std::vector<int32_t>& ids) {
  const std::vector<int64_t> wide(ids.begin(), ids.end());
  const auto count = static_cast<int64_t>(ids.size());
  const Tensor y =
      model.decode(Tensor::from({1, count}, wide), state).to(engine::DType::f32).to(engine::cpu);  // (1, T, V)
  const float* values = y.data<float>();
  require(std::all_of(values, values + y.numel(), [](float x) { return std::isfinite(x); }), "a logit is not finite");
  return y.reshape({count, -1});
}

/// Ids by their logits, the largest first; equal ones by id.
std::vector<int32_t> largest(const float* logits, int64_t vocab, size_t count) {
  std::vector<int32_t> order(static_cast<size_t>(vocab));
  std::iota(order.begin(), order.end(), 0);
  count = std::min(count, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](int32_t a, int32_t b) { return logits[a] != logits[b] ? logits[a] > logits[b] : a < b; });
  order.resize(count);
  return order;
}

double logsumexp_of(const float* logits, int64_t vocab) {
  const double top = *std::max_element(logits, logits + vocab);
  double sum = 0;
  for (int64_t i = 0; i < vocab; ++i) sum += std::exp(logits[i] - top);
  return top + std::log(sum);
}

/// Greedy tokens behind what the state has seen, of which `logits` follow the last.
void continue_greedily(const Transformer& model, ModelCache& state, Tensor logits, ReferenceText& out) {
  const TransformerConfig& c = model.config();
  const int64_t longest = c.max_length, vocab = logits.dim(-1);
  while (static_cast<int64_t>(out.greedy.size()) < greedy_tokens) {
    const float* last = logits.data<float>() + (logits.dim(0) - 1) * vocab;
    const std::vector<int32_t> best = largest(last, vocab, 2);
    out.greedy.push_back(best[0]);
    out.greedy_margin.push_back(best.size() > 1 ? double{last[best[0]]} - double{last[best[1]]} : 0);
    if (state.offset() >= longest) return;
    logits = logits_after(model, state, {best[0]});
  }
}

/// A field of a text's object, whose members have the type T.
template <class T>
T field(const nlohmann::json& text, const char* key) {
  const auto found = text.find(key);
  require(found != text.end(), "{} is missing", key);
  try {
    return found->get<T>();
  } catch (const nlohmann::json::exception&) {
    fail("{} is invalid (see docs/trained-models.md)", key);
  }
}

ReferenceText read_text(const nlohmann::json& json) {
  require(json.is_object(), "is {}, expected an object", shown(json));
  ReferenceText text;
  text.text = field<std::string>(json, "text");
  text.ids = field<std::vector<int32_t>>(json, "ids");
  text.logsumexp = field<std::vector<double>>(json, "logsumexp");
  text.top = field<decltype(text.top)>(json, "top10");
  text.greedy = field<std::vector<int32_t>>(json, "greedy20");
  if (json.contains("greedy_margin")) text.greedy_margin = field<std::vector<double>>(json, "greedy_margin");
  require(!text.ids.empty(), "ids is empty");
  require(text.logsumexp.size() == text.ids.size() && text.top.size() == text.ids.size(),
          "{} ids, {} entries of logsumexp and {} of top10: expected one for each id", text.ids.size(),
          text.logsumexp.size(), text.top.size());
  text.greedy_margin.resize(text.greedy.size(), INFINITY);
  return text;
}

}  // namespace

ReferenceLogits read_reference_logits(const std::filesystem::path& path) {
  const nlohmann::json json = read_json(path);
  ReferenceLogits reference;
  const nlohmann::json& texts = member(json, "texts");
  require(texts.is_array() && !texts.empty(), "{}: texts: expected a list of known texts", path.string());
  for (const auto& [key, value] : {std::pair{"model", &reference.model}, {"made_with", &reference.made_with}})
    if (member(json, key).is_string()) *value = member(json, key).get<std::string>();
  for (const nlohmann::json& text : texts) {
    const std::string place = fmt::format("{}: texts[{}]", path.string(), reference.texts.size());
    reference.texts.push_back(naming(place, [&] { return read_text(text); }));
  }
  return reference;
}

std::string json_of(const ReferenceLogits& reference) {
  nlohmann::ordered_json texts = nlohmann::ordered_json::array();
  for (const ReferenceText& text : reference.texts)
    texts.push_back({{"text", text.text},
                     {"ids", text.ids},
                     {"logsumexp", text.logsumexp},
                     {"top10", text.top},
                     {"greedy20", text.greedy},
                     {"greedy_margin", text.greedy_margin}});
  return nlohmann::ordered_json{{"model", reference.model}, {"made_with", reference.made_with}, {"texts", texts}}.dump(
             1, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

ReferenceText measure_text(const Transformer& model, const std::string& text, const std::vector<int32_t>& ids) {
  require(!ids.empty(), "{}: a text of no tokens", quoted_name(text));
  ReferenceText out{.text = text, .ids = ids, .logsumexp = {}, .top = {}, .greedy = {}, .greedy_margin = {}};
  ModelCache state(model.config());
  const Tensor logits = logits_after(model, state, ids);  // (T, V)
  const int64_t vocab = logits.dim(1);
  for (int64_t t = 0; t < logits.dim(0); ++t) {
    const float* row = logits.data<float>() + t * vocab;
    out.logsumexp.push_back(logsumexp_of(row, vocab));
    auto& listed = out.top.emplace_back();
    for (const int32_t id : largest(row, vocab, most_listed)) listed.emplace_back(id, row[id]);
  }
  continue_greedily(model, state, logits, out);
  return out;
}

ReferenceComparison compare_text(const Transformer& model, const ReferenceText& reference, double tolerance) {
  const int64_t vocab = model.config().vocab;
  const auto check = [&](int64_t id) {
    require(id >= 0 && id < vocab, "{}: token {} is not in the model's vocabulary of {}", quoted_name(reference.text),
            id, vocab);
  };
  for (const int32_t id : reference.ids) check(id);
  for (const auto& listed : reference.top)
    for (const auto& [id, logit] : listed) check(id);
  ReferenceComparison out;
  ModelCache state(model.config());
  const Tensor logits = logits_after(model, state, reference.ids);  // (T, V)
  for (size_t t = 0; t < reference.ids.size(); ++t) {
    const float* row = logits.data<float>() + static_cast<int64_t>(t) * vocab;
    out.worst_logsumexp = std::max(out.worst_logsumexp, std::abs(logsumexp_of(row, vocab) - reference.logsumexp[t]));
    for (const auto& [id, logit] : reference.top[t])
      out.worst_logit = std::max(out.worst_logit, std::abs(double{row[id]} - logit));
  }
  ReferenceText own;
  continue_greedily(model, state, logits, own);
  const auto differ =
      std::mismatch(reference.greedy.begin(), reference.greedy.end(), own.greedy.begin(), own.greedy.end());
  out.same_greedy = differ.first - reference.greedy.begin();
  const auto first = static_cast<size_t>(out.same_greedy);
  out.greedy_agrees =
      first >= std::min(reference.greedy.size(), own.greedy.size()) || reference.greedy_margin[first] <= 2 * tolerance;
  return out;
}

}  // namespace headroom::models
