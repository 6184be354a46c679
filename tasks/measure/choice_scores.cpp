#include "tasks/measure/choice_scores.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <string_view>

#include "engine/error.h"
#include "engine/ops/log_softmax/log_softmax.h"
#include "tasks/measure/language_model.h"

namespace headroom::tasks {
namespace {

/// One choice after its prompt.
struct Continuation {
  std::vector<int64_t> ids;  ///< of both
  size_t first = 0;          ///< of the choice
  double bytes = 0;          ///< of the choice
  double log_p = 0;
};

Continuation continuation_of(const ChoiceItem& item, const std::string& choice, const models::Tokenizer& tokenizer,
                             const ChoiceOptions& options) {
  const size_t kept = item.prompt.find_last_not_of(' ') + 1;  // 0: nothing but spaces
  const std::vector<int32_t> prompt = tokenizer.encode(std::string_view(item.prompt).substr(0, kept)),
                             whole = tokenizer.encode(item.prompt + choice);
  require(!whole.empty(), "{}: the prompt and '{}' make no token", item.place, choice);
  const size_t most = std::min(prompt.size(), whole.size() - 1);
  const auto shared = static_cast<size_t>(
      std::mismatch(prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(most), whole.begin()).first -
      prompt.begin());
  Continuation out;
  if (options.bos) out.ids.push_back(*options.bos);
  out.ids.insert(out.ids.end(), whole.begin(), whole.end());
  out.first = shared + (options.bos ? 1 : 0);
  out.bytes = static_cast<double>(choice.size());
  require(out.first > 0, "{}: there is nothing before the choice '{}' that the model could go by", item.place, choice);
  require(static_cast<int64_t>(out.ids.size()) <= options.context, "{}: takes {} tokens, the context is {}", item.place,
          out.ids.size(), options.context);
  return out;
}

/// Fills in log_p of the choices of these items. Choices of one token share their prompt's pass.
void score(const models::Transformer& model, std::span<std::vector<Continuation>> items, const ChoiceOptions& options) {
  std::vector<std::map<std::vector<int64_t>, std::vector<Continuation*>>> by_input;
  std::vector<TokenBatch> groups;
  for (std::vector<Continuation>& choices : items) {
    auto& own = by_input.emplace_back();
    for (Continuation& c : choices) own[{c.ids.begin(), c.ids.end() - 1}].push_back(&c);
    TokenBatch& inputs = groups.emplace_back();
    for (const auto& [input, all] : own) inputs.push_back(input);
  }
  const std::vector<std::vector<Tensor>> hidden =
      hidden_states_of_groups(model, groups, {.rounded_cache = options.cache});
  for (size_t item = 0; item < groups.size(); ++item)
    for (size_t i = 0; i < groups[item].size(); ++i) {
      const size_t length = groups[item][i].size();
      const std::vector<Continuation*>& own = by_input[item].at(groups[item][i]);
      size_t from = length;
      for (const Continuation* c : own) from = std::min(from, c->first);
      const int64_t begin = static_cast<int64_t>(from) - 1, vocab = model.config().vocab;
      std::vector<std::vector<double>> terms(own.size(), std::vector<double>(length, 0.0));
      for_each_logits(model, hidden[item][i], begin, static_cast<int64_t>(length),
                      [&](int64_t row, const float* logits) {
                        const double norm = engine::log_sum_exp(logits, vocab);
                        const auto next = static_cast<size_t>(row) + 1;
                        for (size_t c = 0; c < own.size(); ++c)
                          if (next >= own[c]->first)
                            terms[c][static_cast<size_t>(row)] = logits[own[c]->ids[next]] - norm;
                      });
      for (size_t c = 0; c < own.size(); ++c)
        for (const double term : terms[c]) own[c]->log_p += term;
    }
}

/// Sums over items.
struct ChoiceTally {
  int64_t items = 0;
  double right = 0, right_per_byte = 0, chance = 0;
  std::vector<int64_t> picked;
  std::vector<double> losses;
  std::map<int64_t, double> answers;

  void add(const ChoiceItem& item, const std::vector<Continuation>& choices) {
    const auto by = [](auto value) {
      return [value](const Continuation& a, const Continuation& b) { return value(a) < value(b); };
    };
    const auto log_p = [](const Continuation& c) { return c.log_p; };
    const auto per_byte = [](const Continuation& c) { return c.log_p / c.bytes; };
    const int64_t best = std::max_element(choices.begin(), choices.end(), by(log_p)) - choices.begin();
    const int64_t best_per_byte = std::max_element(choices.begin(), choices.end(), by(per_byte)) - choices.begin();
    double sum = 0;
    for (const Continuation& c : choices) sum += std::exp(c.log_p - choices[static_cast<size_t>(best)].log_p);
    const double own =
        choices[static_cast<size_t>(best)].log_p + std::log(sum) - choices[static_cast<size_t>(item.answer)].log_p;
    ++items;
    right += best == item.answer ? 1 : 0;
    right_per_byte += best_per_byte == item.answer ? 1 : 0;
    chance += 1 / static_cast<double>(choices.size());
    picked.push_back(best);
    losses.push_back(own);
    ++answers[item.answer];
  }

  ChoiceScores result() const {
    const auto n = static_cast<double>(items);
    const auto binomial = [&](double p) { return items > 1 ? std::sqrt(p * (1 - p) / (n - 1)) : 0; };
    ChoiceScores out;
    out.items = items;
    out.accuracy = right / n;
    out.stderr_accuracy = binomial(out.accuracy);
    out.accuracy_per_byte = right_per_byte / n;
    out.stderr_per_byte = binomial(out.accuracy_per_byte);
    double loss = 0, squares = 0;
    for (const double own : losses) loss += own, squares += own * own;
    out.log_loss = loss / n;
    if (items > 1) out.stderr_log_loss = std::sqrt(std::max(0.0, squares / n - out.log_loss * out.log_loss) / (n - 1));
    for (const auto& [answer, count] : answers) out.commonest = std::max(out.commonest, count / n);
    out.chance = chance / n;
    out.picked = picked;
    out.losses = losses;
    return out;
  }
};

}  // namespace

ChoiceScores measure_choices(const models::Transformer& model, const models::Tokenizer& tokenizer,
                             const std::vector<ChoiceItem>& items, const ChoiceOptions& options,
                             const std::function<void(int64_t done, double accuracy)>& progress) {
  require(!items.empty(), "choices: there is no item");
  std::vector<std::vector<Continuation>> continuations;
  for (const ChoiceItem& item : items) {
    continuations.emplace_back();
    for (const std::string& choice : item.choices)
      continuations.back().push_back(continuation_of(item, choice, tokenizer, options));
  }
  ChoiceTally tally;
  const auto at_once = static_cast<size_t>(options.items_at_once);
  for (size_t begin = 0; begin < items.size(); begin += at_once) {
    const size_t end = std::min(items.size(), begin + at_once);
    try {
      score(model, std::span(continuations).subspan(begin, end - begin), options);
    } catch (const Error& error) {
      throw error.in(fmt::format("{} to {}", items[begin].place, items[end - 1].place));
    }
    for (size_t i = begin; i < end; ++i) tally.add(items[i], continuations[i]);
    if (progress) progress(static_cast<int64_t>(end), tally.right / static_cast<double>(end));
  }
  return tally.result();
}

}  // namespace headroom::tasks
