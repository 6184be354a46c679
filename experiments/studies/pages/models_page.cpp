#include "experiments/studies/pages/models_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "experiments/studies/config/trial_facts.h"
#include "experiments/studies/pages/results_page.h"
#include "experiments/studies/words/verdict_words.h"

namespace headroom::experiments {
namespace {

/// The trained model that a series is about; "" where it is about none, and where its weights are random.
std::string model_of(const Analysis& study, const std::string& series) {
  for (const TrialRecord& trial : study.trials) {
    if (!series.empty() && trial.series != series) continue;
    const TrialFacts& facts = study.facts(trial);
    const auto weights = facts.settings.find("task.weights");
    const bool is_random = weights != facts.settings.end() && weights->second == "random";
    return is_random ? "" : facts.studied_model;
  }
  return "";
}

bool has(const std::vector<const Verdict*>& verdicts, VerdictStatus status) {
  return std::any_of(verdicts.begin(), verdicts.end(), [&](const Verdict* v) { return v->status == status; });
}

/// "**holds** 1.02 [1.01, 1.03]; **fails** …".
Phrase cell_of(const std::vector<const Verdict*>& verdicts) {
  Phrase cell;
  for (const Verdict* v : verdicts) {
    if (!cell.empty()) cell.push_back({"; "});
    cell.push_back({.text = v->status == VerdictStatus::undecided ? "open" : says(v->status), .is_strong = true});
    cell.push_back({fmt::format(" {}", fmt::join(words_of(*v).numbers, ", "))});
  }
  return cell;
}

}  // namespace

bool ModelClaim::is_split() const {
  const auto is_on_some = [&](VerdictStatus status, VerdictStatus opposite) {
    return std::any_of(by_model.begin(), by_model.end(),
                       [&](const auto& one) { return has(one.second, status) && !has(one.second, opposite); });
  };
  return is_on_some(VerdictStatus::pass, VerdictStatus::fail) && is_on_some(VerdictStatus::fail, VerdictStatus::pass);
}

std::vector<ModelClaim> claims_by_model(const std::vector<Analysis>& all) {
  std::vector<ModelClaim> claims;
  for (const Analysis& study : all) {
    const size_t first = claims.size();
    for (const Verdict& v : study.verdicts()) {
      const std::string words = own_words(v.claim), model = model_of(study, v.claim.series);
      if (words.empty() || model.empty() || v.status == VerdictStatus::not_run) continue;
      auto found = std::find_if(claims.begin() + static_cast<std::ptrdiff_t>(first), claims.end(),
                                [&](const ModelClaim& c) { return c.words == words && c.metric == v.metric; });
      if (found == claims.end()) found = claims.insert(found, {&study, words, v.metric, {}});
      found->by_model[model].push_back(&v);
    }
  }
  std::erase_if(claims, [](const ModelClaim& c) { return c.by_model.size() < 2; });
  return claims;
}

std::string models_sentence(const std::vector<ModelClaim>& claims) {
  if (claims.empty()) return "";
  const auto split = std::count_if(claims.begin(), claims.end(), [](const ModelClaim& c) { return c.is_split(); });
  return fmt::format(
      "{} claims about trained models were judged on two of them or more; {} of these {} on one model "
      "and {} on another.",
      claims.size(), split, split == 1 ? "holds" : "hold", split == 1 ? "fails" : "fail");
}

Blocks models_page(const std::vector<Analysis>& all, const std::vector<ModelClaim>& claims) {
  std::set<std::string> models;
  for (const ModelClaim& c : claims)
    for (const auto& one : c.by_model) models.insert(one.first);
  std::vector<std::string> head{"claim", "study"};
  for (const std::string& model : models) head.push_back(std::filesystem::path(model).stem().string());
  std::vector<std::vector<Phrase>> rows;
  for (const ModelClaim& c : claims) {
    const std::string page = page_name(all, *c.study);
    std::vector<Phrase>& row = rows.emplace_back();
    row.push_back({{.text = c.words, .is_strong = c.is_split()}});
    row.push_back({{.text = page, .link = page + ".md"}});
    for (const std::string& model : models) {
      const auto found = c.by_model.find(model);
      row.push_back(found == c.by_model.end() ? Phrase{} : cell_of(found->second));
    }
  }
  return {
      title("Trained models, claim by claim"), paragraph(models_sentence(claims)),
      paragraph("Claims that are split so stand in bold type. Where a model has several verdicts, each is of another "
                "series of the study: other layers, or another metric in each head. Empty: not measured."),
      table("Every claim", head, std::move(rows))};
}

}  // namespace headroom::experiments
