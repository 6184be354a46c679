#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace headroom::experiments {

class Reader;
struct Place;

/// Finds a file or folder of the source tree, such as "experiments/tools/bench/workloads.toml": below the working
/// folder, else below HEADROOM_SHARE if set, or as installed with the program (PREFIX/share/headroom for
/// PREFIX/bin/headroom). Otherwise returns `path`.
std::filesystem::path shipped_file(const std::string& path);

/// The study files (*.toml) of a folder, sorted; none if it cannot be read.
std::vector<std::filesystem::path> toml_files(const std::filesystem::path& folder);

/// The study file that `name` means: a file of that name; that of a study's id, "ngram-tradeoff", in the working
/// folder, in its experiments/ or among the installed studies, by its name or by the id that it gives; or an installed
/// one by its path in the source tree.
/// Throws Error for an id that no study has, naming the nearest, or that several files give, and returns any other name
/// as it is.
std::filesystem::path study_file(const std::string& name);

/// Ids of the studies that study_file() finds in experiments/ and among the installed ones, each with its file.
struct ShippedStudy {
  std::string id;
  std::filesystem::path file;
};
std::vector<ShippedStudy> shipped_studies();

/// Resolves a file's name against the folder of the study file that names it; if there is no such file there, or --set
/// names it, against the working folder.
std::string beside(const Place& place, const std::string& file);

/// Resolves the value `path` of a key that may name a file or something else: against the study file's folder if such a
/// file exists there, else unchanged.
std::string beside_study(const Reader& in, const std::string& key, const std::string& path);

}  // namespace headroom::experiments
