#pragma once
#include <filesystem>
#include <memory>
#include <string>

#include "experiments/program/serve/guard.h"
#include "experiments/program/serve/http_server.h"
#include "experiments/program/serve/run_figures.h"
#include "experiments/program/serve/run_reader.h"

namespace headroom::experiments {

/// The pages of `headroom serve`, which show the runs under a folder while they train. Safe to call from several
/// threads.
class LiveView {
 public:
  LiveView(std::filesystem::path out, Guard guard)
      : readers_(std::make_shared<RunReaders>(std::move(out))), guard_(std::move(guard)) {}

  /// Refuses a request by its headers alone; returns status 200 otherwise.
  HttpAnswer check(const HttpRequest& request) const { return guard_.check(request); }
  /// Answers a request that passed check().
  HttpAnswer answer(const HttpRequest& request) const;

 private:
  HttpAnswer page(int status) const;
  HttpAnswer api(const HttpRequest& request, const std::vector<std::string>& parts) const;
  HttpAnswer run_api(const HttpRequest& request, const std::vector<std::string>& parts) const;
  HttpAnswer file(const std::vector<std::string>& parts) const;

  std::shared_ptr<RunReaders> readers_;
  std::shared_ptr<EmergingResults> emerging_ = std::make_shared<EmergingResults>();
  std::shared_ptr<RunCurves> curves_ = std::make_shared<RunCurves>();
  Guard guard_;
};

}  // namespace headroom::experiments
