#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace headroom::experiments {

class Reader;

/// What is known of a series before anything is trained.
struct SeriesScope {
  std::set<double> x;
  std::set<std::string> metrics;  ///< that some of its trials may have
  std::set<double> overlay;       ///< x of its overlay's points
};

/// What the claims of a study may speak of, in any profile of its file: a claim on an x that only another profile
/// measures is "not run" in this one, a claim on an x that none measures is a mistake.
struct StudyScope {
  std::vector<std::string> series{""};       ///< of this profile
  std::map<std::string, SeriesScope> known;  ///< empty where the trials could not be planned: then nothing is checked
  std::string x_name = "x";                  ///< "heads"
  std::string y_metric;
};

/// The same for one claim, whose own series, metric and range are read already. Each check reports one key of the file,
/// and passes what nothing is known about.
class ClaimScope {
 public:
  /// A `series` of "" is the only one, a `metric` of "" the report's.
  ClaimScope(const StudyScope& study, const std::string& series, const std::string& metric, std::optional<double> from,
             std::optional<double> to);

  /// `metric` is one that the trials of a series may have; "" for the claim's own series.
  void check_metric(Reader& in, const std::string& key, const std::string& metric,
                    const std::string& series = "") const;
  /// `x` is a point of a series' sweep in the claim's range.
  void check_x(Reader& in, const std::string& key, double x, const std::string& series = "") const;
  /// `series` exists in this profile.
  void check_series(Reader& in, const std::string& key, const std::string& series) const;
  /// The claim's range holds at least `least` x. `what`: "a slope".
  void check_count(Reader& in, size_t least, const std::string& what) const;

  /// The x of a series in the claim's range, growing; none where nothing is known.
  std::vector<double> x(const std::string& series = "") const;
  bool has_series(const std::string& series) const;
  bool is_known() const { return !study_.known.empty(); }
  const SeriesScope& of(const std::string& series = "") const;
  const std::string& series() const { return series_; }
  const std::string& metric() const { return metric_; }
  const std::string& x_name() const { return study_.x_name; }

 private:
  std::string range_text() const;

  const StudyScope& study_;
  std::string series_, metric_;
  std::optional<double> from_, to_;
};

}  // namespace headroom::experiments
