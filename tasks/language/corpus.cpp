#include "tasks/language/corpus.h"

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "tasks/data/sha256.h"
#include "tasks/language/text_files.h"

namespace headroom::tasks {
namespace {

/// A file's bytes and their hash.
struct Text {
  std::string name, bytes, hash;
};

Text read(const std::filesystem::path& path) {
  Text text{path.string(), read_text_file(path), {}};
  text.hash = sha256(text.bytes);
  return text;
}

}  // namespace

bool is_tested_on_validation(const CorpusConfig& config) {
  return config.test == 0 && config.test_file.empty() && !brings_test(config.source);
}

void validate(const CorpusConfig& config) {
  require(!config.source.empty(), "source: expected \"markov\", a data set's name or a file");
  require(config.validation >= 0 && config.validation < 1, "validation: expected 0 <= share < 1, got {}",
          config.validation);
  require(config.test >= 0 && config.test < 1, "test: expected 0 <= share < 1, got {}", config.test);
  require(config.validation + config.test < 1, "validation + test: expected less than 1, got {}",
          config.validation + config.test);
  require(config.tokens >= 0, "tokens: expected >= 0, got {}", config.tokens);
  if (config.source == "markov") {
    validate(config.markov);
    require(config.validation_file.empty() && config.test_file.empty(),
            "validation_file, test_file: a Markov source has no files");
  }
}

Corpus::Corpus(const CorpusConfig& config, const DataRoots& roots, int64_t length) {
  validate(config);
  if (config.source == "markov") make_markov(config);
  else read_text(config, roots);
  if (config.tokens > 0) train_ = train_.first(std::min(train_.size(), static_cast<size_t>(config.tokens)));
  tests_on_validation_ = test_.empty();
  if (tests_on_validation_) test_ = validation_;
  const auto check = [&](const char* split, TokenSpan tokens) {
    require(static_cast<int64_t>(tokens.size()) > length,
            "{}: its {} text has {} tokens: expected more than length = {}", name_, split, tokens.size(), length);
  };
  check("training", train_);
  check("validation", validation_);
  check("test", test_);
}

void Corpus::make_markov(const CorpusConfig& config) {
  const MarkovSource source(config.markov);
  name_ = fmt::format("Markov source of order {} over {} symbols, entropy rate {:.6f} ± {:.0e} nats",
                      config.markov.order, config.markov.symbols, source.entropy_rate(), source.entropy_rate_error());
  kept_.emplace_back(source.sample(config.markov.tokens, "text"));
  vocab_ = config.markov.symbols;
  order_ = config.markov.order;
  entropy_rate_ = source.entropy_rate();
  characters_.assign(static_cast<size_t>(vocab_), 1);
  cut(kept_.back().span(), config.validation, config.test);
}

void Corpus::read_text(const CorpusConfig& config, const DataRoots& roots) {
  TextFiles files = find_texts(config.source, roots);
  if (!config.validation_file.empty()) files.validation = find_file(config.validation_file, roots);
  if (!config.test_file.empty()) files.test = find_file(config.test_file, roots);
  std::vector<Text> texts;
  for (const std::filesystem::path& path : {files.text, files.validation, files.test})
    texts.push_back(path.empty() ? Text() : read(path));
  std::vector<NamedText> named;
  for (const Text& text : texts)
    if (!text.name.empty()) named.push_back({text.name, text.bytes});
  const std::unique_ptr<Encoding> encoding = make_encoding(config.tokenizer, named, roots);
  const TokenCache cache(roots.cache.empty() ? roots.cache : roots.cache / "tokens");
  for (const Text& text : texts) {
    kept_.emplace_back();
    if (text.name.empty()) continue;
    hashes_[text.name] = text.hash;
    kept_.back() = cache.get(text.hash, encoding->identity(), [&] { return encoding->encode(text.bytes, text.name); });
  }
  vocab_ = encoding->vocab();
  characters_ = encoding->characters();
  name_ = fmt::format("{}, {} tokens of {}", files.text.string(), vocab_, config.tokenizer);
  // A file of its own replaces a share.
  cut(kept_[0].span(), files.validation.empty() ? config.validation : 0, files.test.empty() ? config.test : 0);
  if (!files.validation.empty()) validation_ = kept_[1].span();
  if (!files.test.empty()) test_ = kept_[2].span();
}

void Corpus::cut(TokenSpan all, double validation, double test) {
  const auto part = [&](double share) {
    return static_cast<size_t>(std::llround(share * static_cast<double>(all.size())));
  };
  const size_t tested = part(test), validated = std::min(part(validation), all.size() - tested);
  train_ = all.first(all.size() - tested - validated);
  validation_ = all.subspan(train_.size(), validated);
  test_ = all.last(tested);
}

std::string Corpus::describe() const {
  return fmt::format("{}; {} / {} / {} tokens train / validation / test{}", name_, train_.size(), validation_.size(),
                     tests_on_validation_ ? 0 : test_.size(), tests_on_validation_ ? " (tested on validation)" : "");
}

}  // namespace headroom::tasks
