#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tasks/data/locate.h"
#include "tasks/language/encoding.h"
#include "tasks/language/markov.h"
#include "tasks/language/token_cache.h"

namespace headroom::tasks {

/// The source of a language task's text, and its splits.
struct CorpusConfig {
  /// "markov", the built-in source; a data set's name ("tinyshakespeare", "wikitext-2"); or a text file.
  std::string source = "markov";
  MarkovConfig markov{};
  std::string tokenizer = "char";              ///< "char", "byte" or a tokenizer's path; a Markov source needs none
  std::string validation_file{}, test_file{};  ///< separate texts; a data set may bring some
  double validation = 0.1;                     ///< share of the text, if there is no file
  double test = 0;                             ///< share of the text; 0: test metrics come from validation
  int64_t tokens = 0;                          ///< > 0: training uses only that many, from the start
};

/// Throws Error naming the field and what is allowed.
void validate(const CorpusConfig& config);

/// Whether it has no test text of its own.
bool is_tested_on_validation(const CorpusConfig& config);

/// Token ids in three disjoint splits, cut in the order train, validation, test.
class Corpus {
 public:
  /// Reads, encodes and splits the text. Every split must hold more than one context of `length`. Throws Error naming
  /// the file and the sizes.
  Corpus(const CorpusConfig& config, const DataRoots& roots, int64_t length);

  TokenSpan train() const { return train_; }
  TokenSpan validation() const { return validation_; }
  TokenSpan test() const { return test_; }
  int64_t vocab() const { return vocab_; }
  /// The number of characters each id stands for, (vocab).
  const std::vector<int32_t>& characters() const { return characters_; }
  /// The Markov source's entropy rate, in nats per token; none for text.
  std::optional<double> entropy_rate() const { return entropy_rate_; }
  /// The number of tokens that the next one depends on: the source's order, 0 for text.
  int64_t order() const { return order_; }
  /// File → SHA-256.
  const std::map<std::string, std::string>& hashes() const { return hashes_; }
  std::string describe() const;

 private:
  void make_markov(const CorpusConfig& config);
  void read_text(const CorpusConfig& config, const DataRoots& roots);
  void cut(TokenSpan all, double validation, double test);

  std::string name_;
  std::vector<Tokens> kept_;
  TokenSpan train_, validation_, test_;
  bool tests_on_validation_ = false;
  int64_t vocab_ = 0, order_ = 0;
  std::vector<int32_t> characters_;
  std::optional<double> entropy_rate_;
  std::map<std::string, std::string> hashes_;
};

}  // namespace headroom::tasks
