#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tasks/class_meter.h"

namespace headroom::tasks {

/// What a meter of tokens reports besides cross_entropy (nats) and perplexity.
struct TokenMeterConfig {
  const char* accuracy = "accuracy";     ///< name of the share of targets that are the most likely class
  std::vector<int32_t> characters{};     ///< by class: bits_per_char, when not empty
  std::optional<double> entropy_rate{};  ///< of the source, in nats: "excess" = cross_entropy / it − 1
  bool by_response = false;              ///< cross_entropy_all and cross_entropy_response; the plain names are …
  bool judges_response = false;          ///< … those of the responses, or of all
};

/// Sums over tokens in f64, in the order of the batches and their rows.
class TokenMeter : public Meter {
 public:
  explicit TokenMeter(TokenMeterConfig config) : config_(std::move(config)) {}
  void add(const Tensor& output, const Batch& batch) override;
  bool adds_on_device() const override { return true; }
  /// Nats, targets, correct ones and characters: of all, then of the responses.
  std::vector<double> sums() const override;
  Metrics metrics(const std::vector<double>& sums) const override;

 private:
  struct Sums {
    double nats = 0, count = 0, correct = 0, characters = 0;  ///< the last three are whole numbers
    double mean() const;
  };
  TokenMeterConfig config_;
  Sums all_, response_;
};

/// The names of TokenMeter's metrics with this name of the accuracy; with characters bits_per_char is one.
std::set<std::string> token_metrics(const char* accuracy, bool has_characters);

}  // namespace headroom::tasks
