#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tasks/class_meter.h"

namespace headroom::tasks {

/// A token meter's metrics besides cross_entropy (nats) and perplexity.
struct TokenMeterConfig {
  const char* accuracy = "accuracy";     ///< name of the share of targets that are the likeliest class
  std::vector<int32_t> characters{};     ///< per class, for bits_per_char; empty: leave it out
  std::optional<double> entropy_rate{};  ///< of the source, in nats: "excess" = cross_entropy / it − 1
  bool by_response = false;              ///< adds cross_entropy_all and cross_entropy_response; plain names then …
  bool judges_response = false;          ///< … mean the response if true, else all
};

/// Sums over tokens in f64, in the order of batches and rows.
class TokenMeter : public Meter {
 public:
  explicit TokenMeter(TokenMeterConfig config) : config_(std::move(config)) {}
  void add(const Tensor& output, const Batch& batch) override;
  bool adds_on_device() const override { return true; }
  /// Nats, targets, number correct and characters: over all, then over responses.
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

/// The names of TokenMeter's metrics with this name for accuracy; with characters, bits_per_char too.
std::set<std::string> token_metrics(const char* accuracy, bool has_characters);

}  // namespace headroom::tasks
