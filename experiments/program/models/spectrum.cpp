#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/error.h"
#include "engine/finite.h"
#include "engine/linalg/svd.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/standard_streams.h"
#include "models/safetensors/safetensors.h"
#include "tasks/training/checkpoint.h"

namespace headroom::experiments {
namespace {

using engine::Tensor;
using engine::linalg::SvdMethod;

struct SpectrumArguments {
  std::string file, tensor, times;
  std::optional<int64_t> rank;
  bool json = false;
};

/// What a matrix's best approximations of rank r = 1, 2, … keep and miss (Eckart & Young, 1936).
struct Spectrum {
  std::vector<double> values;
  std::vector<double> energy;          ///< share of Σ σ² in the first r
  std::vector<double> error;           ///< √(Σ_{i>r} σ²), the Frobenius norm of the rest
  std::vector<double> spectral_error;  ///< σ_{r+1}, its spectral norm
};

Spectrum spectrum_of(const std::vector<double>& values, int64_t rank) {
  // rest[r] = √(Σ_{i≥r} σ²) in units of a power of two near σ_1, so that neither large values overflow nor small
  // vanish.
  const int exponent = values.empty() || !(values[0] > 0) ? 0 : std::ilogb(values[0]);
  std::vector<double> rest(values.size() + 1);
  for (size_t i = values.size(); i-- > 0;) rest[i] = std::hypot(rest[i + 1], std::scalbn(values[i], -exponent));
  Spectrum out;
  for (size_t r = 1; r <= static_cast<size_t>(rank); ++r) {
    const double missing = rest[0] > 0 ? rest[r] / rest[0] : 0;
    out.values.push_back(values[r - 1]);
    out.energy.push_back(1 - missing * missing);
    out.error.push_back(std::scalbn(rest[r], exponent));
    out.spectral_error.push_back(r < values.size() ? values[r] : 0);
  }
  return out;
}

/// A tensor of the file as an f64 matrix.
Tensor matrix_of(const models::SafetensorsFile& file, const std::string& name) {
  const Tensor x = file.tensor(name);
  require(engine::is_floating(x.dtype()), "spectrum: tensor {} is {}: expected real numbers", name, x.str());
  require(x.rank() == 2, "spectrum: tensor {} is {}, not a matrix", name, x.str());
  const std::optional<std::string> bad = engine::first_not_finite(x);
  require(!bad, "spectrum: tensor {} holds {}: only finite numbers can be factored", name, bad.value_or(""));
  return x.to(engine::DType::f64);
}

void print_table(const Spectrum& s) {
  print_text("{:>6}  {:>16}  {:>14}  {:>14}  {:>14}\n", "rank", "singular value", "energy", "error (Frob.)",
             "error (spec.)");
  for (size_t i = 0; i < s.values.size(); ++i)
    print_text("{:>6}  {:>16.9g}  {:>14.10f}  {:>14.6g}  {:>14.6g}\n", i + 1, s.values[i], s.energy[i], s.error[i],
               s.spectral_error[i]);
}

/// All singular values of A, or of AᵀB; the first `last` with a relative error of about 1e-10. The fast method has the
/// rounding error of the largest value: it serves if none of these is below 1e-4 of that; else the accurate method
/// runs.
template <class F>
std::vector<double> values_of(const F& values, size_t last) {
  constexpr double least_ratio = 1e-4;
  const std::vector<double> fast = values(SvdMethod::fast).template to_vector<double>();
  if (fast.empty() || fast[last] >= least_ratio * fast[0]) return fast;
  return values(SvdMethod::accurate).template to_vector<double>();
}

void spectrum(const SpectrumArguments& arguments, bool has_times) {
  const models::SafetensorsFile file(arguments.file);
  tasks::check_weights(file);
  const Tensor a = matrix_of(file, arguments.tensor);  // (p, m)
  Tensor b;                                            // (p, n)
  int64_t count = std::min(a.dim(0), a.dim(1));
  if (has_times) {
    b = matrix_of(file, arguments.times);
    require(a.dim(0) == b.dim(0), "spectrum: --tensor {} has {} rows and --times {} {}: AᵀB does not exist",
            arguments.tensor, a.dim(0), arguments.times, b.dim(0));
    count = std::min(count, b.dim(1));
  }
  const int64_t rank = arguments.rank.value_or(count);
  require(!arguments.rank || (rank >= 1 && rank <= count), "spectrum: --rank {}: expected 1 to {}", rank, count);
  const auto last =
      static_cast<size_t>(std::max<int64_t>(0, std::min(rank, count - 1)));  // σ_{rank + 1} is printed too
  const std::vector<double> values = values_of(
      [&](SvdMethod method) {
        return has_times ? engine::linalg::singular_values_of_product(a.transpose(0, 1), b.transpose(0, 1), method)
                         : engine::linalg::singular_values(a, method);
      },
      last);
  const Spectrum s = spectrum_of(values, rank);
  if (!arguments.json) return print_table(s);
  nlohmann::ordered_json out = {{"tensor", arguments.tensor}};
  if (has_times) out["times"] = arguments.times;
  out["singular_values"] = s.values;
  out["energy"] = s.energy;
  out["error"] = s.error;
  out["spectral_error"] = s.spectral_error;
  print_json(out);
}

}  // namespace

void add_spectrum_command(Command app) {
  const Command command = app.command("spectrum", "print the singular values of a tensor, or of a product of two");
  const auto a = std::make_shared<SpectrumArguments>();
  command.option("FILE", a->file, "a safetensors file").required();
  command.option("--tensor NAME", a->tensor, "the matrix A, by name").required();
  const Option times = command.option("--times NAME", a->times, "a second matrix B: the values of AᵀB");
  command.option("--rank", a->rank, "print the ranks up to this one");
  command.flag("--json", a->json, "as a JSON object");
  command.action([a, times] { spectrum(*a, times.is_given()); });
}

}  // namespace headroom::experiments
