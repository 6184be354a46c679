#pragma once
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>

namespace headroom::tasks {

/// Measured losses by name, kept in a file as they are measured, so that a stopped measurement goes on from there to
/// the same bits. The file: a line that says whose losses they are, then a loss a line.
class KeptLosses {
 public:
  /// `of`: everything that the losses depend on. A file of other losses is started over; one of these, which others may
  /// be adding to, is added to. Throws Error naming the file if it holds something else, or cannot be read or written.
  KeptLosses(std::filesystem::path file, const std::string& of);
  /// The loss of that name, without spaces in it; measured if the file lacks it.
  double get(const std::string& name, const std::function<double()>& measure);
  /// How many the file had.
  size_t found() const { return found_; }
  const std::filesystem::path& file() const { return file_; }
  /// Removes the file.
  void remove();

 private:
  std::filesystem::path file_;
  std::map<std::string, double> known_;
  size_t found_ = 0;
  std::ofstream out_;
};

/// The same without a place to keep it: null measures.
double kept_loss(KeptLosses* kept, const std::string& name, const std::function<double()>& measure);

}  // namespace headroom::tasks
