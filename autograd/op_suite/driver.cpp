#include "autograd/op_suite/driver.h"

#include <algorithm>
#include <optional>
#include <set>

#include "autograd/gradcheck.h"
#include "autograd/op_suite/data.h"
#include "engine/context.h"
#include "engine/dispatch/op.h"
#include "engine/error.h"
#include "engine/ops/concat/concat.h"
#include "engine/parallel.h"
#include "engine/transfer.h"

namespace headroom::autograd {
namespace {

using engine::DType;
using op_suite::compare_bits;
using op_suite::compare_close;
using op_suite::Run;

/// Inputs with more elements are checked on this many, and along one random direction.
constexpr int64_t gradcheck_elements = 96;

/// One sample of one op, and its checks. Each check returns an empty string or the error.
class SampleChecker {
 public:
  SampleChecker(const std::string& op, const OpSamples& samples, const Sample& sample, engine::Device device)
      : sample_(sample),
        name_(op + "/" + sample.label),
        inputs_(sample.inputs),
        device_(device),
        tolerances_(sample.tolerances) {
    for (const auto& [own, shared] :
         {std::pair(&tolerances_.value, samples.value), std::pair(&tolerances_.gradient, samples.gradient)})
      if (own->ulps < 0) *own = {shared.ulps, shared.scale, own->least};
    for (const Input& input : inputs_) wanted_.push_back(input.differentiable());
    f32_ = moved(data(DType::f32));
  }

  std::string gradcheck() const { return gradcheck_of(sample_.run, wanted_, data(DType::f64)); }

  std::string fast() const {
    const Run got = run(f32_);
    if (got.value.dtype() != DType::f32) return fmt::format("f32 inputs gave {}", got.value.str());
    return compare_close(got, truth(), inputs_, tolerances_.value, tolerances_.gradient);
  }

  std::string bf16() const {
    std::vector<Tensor> rounded = moved(data(DType::bf16)), exact;
    for (const Tensor& x : rounded)
      exact.push_back(x.dtype() == DType::bf16 ? x.to(DType::f64).to(engine::cpu) : x.to(engine::cpu));
    const Run got = run(rounded);
    if (got.value.dtype() != (sample_.is_loss ? DType::f32 : DType::bf16))
      return fmt::format("bf16 inputs gave {}", got.value.str());
    const Tensor cotangent = op_suite::cotangent_for(name_, got.value).to(DType::f64).to(engine::cpu);
    const engine::ReferenceScope scope;
    const Run want = op_suite::run(name_, sample_.run, exact, wanted_, cotangent);
    return compare_close(got, want, inputs_, tolerances_.reduced, tolerances_.reduced);
  }

  std::string reference() const {
    const engine::ReferenceScope scope;
    const Tolerance tolerance = tolerances_.reference;
    return compare_close(run(f32_), truth(), inputs_, tolerance, tolerance);
  }

  std::string strided() const {
    const Run want = run(f32_);
    const Tensor cotangent = op_suite::cotangent_for(name_, want.value);
    using op_suite::Layout;
    for (const auto& [layout, label] :
         {std::pair{Layout::transposed, "transposed"}, std::pair{Layout::sliced, "sliced"},
          std::pair{Layout::unaligned, "unaligned"}}) {
      std::vector<Tensor> placed;
      for (const Tensor& x : f32_) placed.push_back(laid_out(x, layout));
      const Run got = op_suite::run(name_, sample_.run, placed, wanted_, laid_out(cotangent, layout));
      const Tolerance tolerance = tolerances_.strided;
      const std::string wrong = tolerance.ulps > 0 || tolerance.scale > 0
                                    ? compare_close(got, want, inputs_, tolerance, tolerance)
                                    : compare_bits(got, want, inputs_);
      if (!wrong.empty()) return label + (", " + wrong);
    }
    return "";
  }

  std::string repeated() const {
    for (size_t i = 0; i < inputs_.size(); ++i)
      for (size_t j = i + 1; j < inputs_.size(); ++j)
        if (const std::optional<Input> both = common(inputs_[i], inputs_[j])) {
          std::vector<Tensor> values = data(DType::f64);
          values[i] = op_suite::make_data(name_, {*both}, DType::f64)[0];
          std::vector<bool> wanted = wanted_;
          wanted[j] = false;
          const auto f = [&](std::vector<Var> in) {
            in[j] = in[i];
            return sample_.run(in);
          };
          if (const std::string wrong =
                  device_.is_cpu() ? gradcheck_of(f, wanted, values) : close_to_f64(f, wanted, values);
              !wrong.empty())
            return fmt::format("{} = {}, {}", inputs_[j].name, inputs_[i].name, wrong);
        }
    return "";
  }

  std::string needs() const {
    const Run want = run(f32_);
    const int64_t unwanted = unwanted_gradients();
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!wanted_[i]) continue;
      std::vector<bool> only(inputs_.size(), false);
      only[i] = true;
      const Run got = op_suite::run(name_, sample_.run, f32_, only);
      if (const std::string wrong = compare_bits(got.gradients[i], want.gradients[i]); !wrong.empty())
        return fmt::format("alone, gradient of {}: {}", inputs_[i].name, wrong);
      for (size_t j = 0; j < inputs_.size(); ++j)
        if (j != i && got.gradients[j].defined()) return fmt::format("{} got an unwanted gradient", inputs_[j].name);
      if (unwanted_gradients() != unwanted)
        return fmt::format("only {} requires a gradient, yet the vjp computed another", inputs_[i].name);
    }
    if (op_suite::run(name_, sample_.run, f32_, std::vector<bool>(inputs_.size(), false)).recorded)
      return "no input requires a gradient, yet the result does";
    return "";
  }

  std::string threads() const {
    std::optional<Run> want;
    for (const int threads : {1, 2, 3}) {
      const engine::ThreadScope scope(threads);
      const Run got = run(f32_);
      if (!want) want = got;
      if (const std::string wrong = compare_bits(got, *want, inputs_); !wrong.empty())
        return fmt::format("{} threads against 1, {}", threads, wrong);
    }
    return "";
  }

  std::string unwritten() const {
    std::vector<Tensor> before, given;
    for (const Tensor& x : f32_) before.push_back(x.clone()), given.push_back(x.clone());
    const Tensor cotangent = op_suite::cotangent_for(name_, run(f32_).value), cotangent_given = cotangent.clone();
    std::vector<uint32_t> versions;
    for (const Tensor& x : given) versions.push_back(x.version());
    const uint32_t cotangent_version = cotangent_given.version();
    op_suite::run(name_, sample_.run, given, wanted_, cotangent_given);
    for (size_t i = 0; i < given.size(); ++i) {
      const std::string wrong = compare_bits(given[i], before[i]);
      if (!wrong.empty()) return fmt::format("{} was written to: {}", inputs_[i].name, wrong);
      if (given[i].version() != versions[i]) return fmt::format("{} was written to in place", inputs_[i].name);
    }
    const std::string wrong = compare_bits(cotangent_given, cotangent);
    if (!wrong.empty() || cotangent_given.version() != cotangent_version)
      return "the cotangent was written to " + wrong;
    return "";
  }

  /// Every operand, whatever its dtype: the gradients are those of the values that the forward pass read, or an error.
  std::string overwritten() const {
    const Run want = run(f32_);
    if (!want.recorded) return "";
    const Tensor cotangent = op_suite::cotangent_for(name_, want.value);
    for (size_t i = 0; i < f32_.size(); ++i) {
      if (f32_[i].numel() == 0) continue;
      std::vector<Tensor> given;
      for (const Tensor& x : f32_) given.push_back(x.clone());
      try {
        const Run got = op_suite::run(name_, sample_.run, given, wanted_, cotangent,
                                      [&] { copy_inplace(given[i], op_suite::other_than(given[i])); });
        for (size_t j = 0; j < got.gradients.size(); ++j)
          if (const std::string wrong = compare_bits(got.gradients[j], want.gradients[j]); !wrong.empty())
            return fmt::format("{} was overwritten before backward, and no error but another gradient of {}: {}",
                               inputs_[i].name, inputs_[j].name, wrong);
      } catch (const Error& error) {
        if (std::string(error.what()).find("was written in place after it was used") == std::string::npos)
          return fmt::format("{} was overwritten before backward: {}", inputs_[i].name, error.what());
      }
    }
    return "";
  }

  /// A share of the largest element would excuse any error in small ones.
  std::string bound() const {
    const auto& [value, gradient] = std::pair(tolerances_.value, tolerances_.gradient);
    const bool has_gradient = std::find(wanted_.begin(), wanted_.end(), true) != wanted_.end();
    if (value.ulps < 0 || (has_gradient && gradient.ulps < 0))
      return "no error bound is stated: elementwise(ulps, slope_ulps), or OpSamples' value and gradient";
    const Tensor y = run(f32_).value;
    if (value.scale == 0 || y.rank() < 2 || y.numel() == 0 || y.dim(-1) == y.numel()) return "";
    const auto rolled = [](const Tensor& x) {
      const Tensor flat = x.reshape({-1});
      return engine::concat({flat.slice(0, 1, x.numel()), flat.slice(0, 0, 1)}, 0).reshape(x.shape());
    };
    std::vector<Tensor> moved;
    for (const Tensor& x : f32_) {
      if (x.shape() != y.shape()) return "";
      moved.push_back(rolled(x));
    }
    return compare_bits(run(moved).value, rolled(y)).empty()
               ? "each element depends on its own operands alone: state the value's bound in ulp, without a scale"
               : "";
  }

  std::string twin() const {
    const Run want = op_suite::run(name_, sample_.twin, f32_, wanted_);
    return compare_close(run(f32_), want, inputs_, tolerances_.twin, tolerances_.twin);
  }

 private:
  std::vector<Tensor> data(DType dtype) const { return op_suite::make_data(name_, inputs_, dtype); }
  std::vector<Tensor> moved(std::vector<Tensor> inputs) const {
    for (Tensor& x : inputs) x = x.to(device_);
    return inputs;
  }
  Run run(const std::vector<Tensor>& inputs) const { return op_suite::run(name_, sample_.run, inputs, wanted_); }

  Run truth() const {
    const engine::ReferenceScope scope;
    return run(data(DType::f64));
  }

  std::string gradcheck_of(const op_suite::Function& f, const std::vector<bool>& wanted,
                           const std::vector<Tensor>& values) const {
    if (std::none_of(wanted.begin(), wanted.end(), [](bool w) { return w; })) return "";
    const engine::ReferenceScope reference;
    const engine::ThreadScope one_thread(
        1);  // thousands of tiny evaluations: waking threads would cost more than they do
    std::vector<Var> inputs;
    for (size_t i = 0; i < values.size(); ++i) inputs.emplace_back(values[i], wanted[i]);
    GradcheckOptions options;
    options.tolerance = tolerances_.gradcheck;
    options.elements = gradcheck_elements;
    const GradcheckResult result = autograd::gradcheck(f, inputs, op_suite::key_of(name_ + "/cotangent"), options);
    return result.ok ? "" : result.message;
  }

  /// f on this device in f32 against f64 reference loops on the CPU, from the same values.
  std::string close_to_f64(const op_suite::Function& f, const std::vector<bool>& wanted,
                           const std::vector<Tensor>& values) const {
    std::vector<Tensor> narrow, wide;
    for (const Tensor& x : values) {
      narrow.push_back((x.dtype() == DType::f64 ? x.to(DType::f32) : x).to(device_));
      wide.push_back(x.dtype() == DType::f64 ? x.to(DType::f32).to(DType::f64) : x);
    }
    const Run got = op_suite::run(name_, f, narrow, wanted);
    const engine::ReferenceScope scope;
    return compare_close(got, op_suite::run(name_, f, wide, wanted), inputs_, tolerances_.value, tolerances_.gradient);
  }

  /// An input whose values suit both, when there are any.
  static std::optional<Input> common(const Input& a, const Input& b) {
    if (!a.differentiable() || !b.differentiable() || a.shape != b.shape) return {};
    if (a.fill == Input::Fill::normal) return b;
    if (b.fill == Input::Fill::normal) return a;
    const double low = std::max(a.low, b.low), high = std::min(a.high, b.high);
    if (low >= high) return {};
    return uniform(a.name, a.shape, low, high);
  }

  const Sample& sample_;
  std::string name_;
  const std::vector<Input>& inputs_;
  engine::Device device_;
  Tolerances tolerances_;
  std::vector<bool> wanted_;
  std::vector<Tensor> f32_;  ///< on the device
};

/// Runs one check and turns what it says, or throws, into a Check.
template <class F>
void add_check(std::vector<Check>& out, const std::string& op, const std::string& sample, const char* name, F&& check) {
  Check result{op, sample, name, Check::Status::pass, ""};
  try {
    result.message = check();
  } catch (const std::exception& e) {
    result.message = fmt::format("threw: {}", e.what());
  }
  if (!result.message.empty()) result.status = Check::Status::fail;
  out.push_back(std::move(result));
}

std::string check_refusal(const std::string& op, const Refusal& refusal, engine::Device device) {
  const std::vector<Tensor> data = op_suite::make_data(op + "/" + refusal.label, refusal.inputs, DType::f32);
  std::vector<Var> variables;
  for (size_t i = 0; i < data.size(); ++i)
    variables.emplace_back(data[i].to(device), refusal.inputs[i].differentiable());
  try {
    refusal.run(variables);
  } catch (const Error& e) {
    const std::string message = e.what();
    std::vector<std::string> mentions = refusal.mentions;
    mentions.push_back(op);
    for (const std::string& mention : mentions)
      if (message.find(mention) == std::string::npos)
        return fmt::format("the message lacks '{}': {}", mention, message);
    return "";
  } catch (const std::exception& e) {
    return fmt::format("threw something that is not headroom::Error: {}", e.what());
  }
  return "was not refused";
}

std::string check_coverage(const OpSamples& samples) {
  const auto has_input_of = [&](int64_t numel) {
    return std::any_of(samples.samples.begin(), samples.samples.end(), [&](const Sample& sample) {
      return std::any_of(sample.inputs.begin(), sample.inputs.end(),
                         [&](const Input& input) { return input.shape.numel() == numel; });
    });
  };
  std::set<std::string> labels;
  for (const Sample& sample : samples.samples)
    if (!labels.insert(sample.label).second) return "two samples are labelled '" + sample.label + "'";
  for (const Refusal& refusal : samples.refusals)
    if (!labels.insert("refusal " + refusal.label).second) return "two refusals are labelled '" + refusal.label + "'";
  if (!has_input_of(0)) return "no sample has an empty input";
  if (!has_input_of(1)) return "no sample has an input of size 1";
  if (samples.refusals.empty()) return "no refusal";
  return "";
}

/// True if a sample has floating inputs, so that the dtype of its data matters.
bool has_floating_input(const Sample& sample) {
  return std::any_of(sample.inputs.begin(), sample.inputs.end(), [](const Input& input) { return input.floating(); });
}

/// A dtype that the op's table lacks must be refused before anything is read.
std::string check_no_kernel(const OpEntry& op, const Sample& sample, engine::Device device) {
  const std::vector<const engine::OpBase*> tables = engine::tables_of(op.name);
  if (tables.empty() || !has_floating_input(sample)) return "";
  for (const DType dtype : {DType::bf16, DType::f16}) {
    if (tables[0]->has(device.kind, dtype)) continue;
    std::vector<Var> variables;
    for (const Tensor& x : op_suite::make_data(op.name + "/no kernel", sample.inputs, dtype))
      variables.emplace_back(x.to(device));
    try {
      sample.run(variables);
      return fmt::format("{} was not refused", engine::name_of(dtype));
    } catch (const Error& error) {
      const std::string want =
          fmt::format("{}: no {} kernel on {}", op.name, engine::name_of(dtype), device.is_cpu() ? "cpu" : "cuda");
      if (std::string(error.what()).find(want) == std::string::npos)
        return fmt::format("the message lacks '{}': {}", want, error.what());
    }
  }
  return "";
}

/// An undefined operand may be an optional one; else the error names the op and, if it has several, the operand.
std::string check_undefined(const OpEntry& op, const Sample& sample) {
  for (size_t i = 0; i < sample.inputs.size(); ++i) {
    std::vector<Var> variables;
    for (const Tensor& x : op_suite::make_data(op.name + "/undefined", sample.inputs, DType::f32))
      variables.emplace_back(x);
    variables[i] = Var();
    try {
      sample.run(variables);
    } catch (const Error& error) {
      const std::string operand = sample.inputs.size() > 1 ? sample.inputs[i].name : "";
      for (const std::string& mention : {op.name, operand, std::string("undefined")})
        if (std::string(error.what()).find(mention) == std::string::npos)
          return fmt::format("without {} the message lacks '{}': {}", sample.inputs[i].name, mention, error.what());
    }
  }
  return "";
}

}  // namespace

std::string Check::str() const {
  static constexpr const char* words[] = {"pass", "fail", "skip"};
  return fmt::format("{}[{}] {}: {}", op, sample, name,
                     message.empty() ? words[static_cast<size_t>(status)] : message.c_str());
}

/// For an op that is made of others: whether these have kernels.
static bool samples_find_kernels(const std::string& op, const OpSamples& samples, engine::Device device) {
  const std::string refusal = fmt::format("kernel on {}", device.is_cpu() ? "cpu" : "cuda");
  return std::all_of(samples.samples.begin(), samples.samples.end(), [&](const Sample& sample) {
    try {
      std::vector<Tensor> inputs = op_suite::make_data(op, sample.inputs, DType::f32);
      std::vector<bool> wanted;
      for (const Input& input : sample.inputs) wanted.push_back(input.differentiable());
      for (Tensor& x : inputs) x = x.to(device);
      op_suite::run(op, sample.run, inputs, wanted);
      return true;
    } catch (const Error& error) {
      return std::string(error.what()).find(refusal) == std::string::npos;
    }
  });
}

/// A row for f32, or for bool where the op has no other.
static bool has_rows(const engine::OpBase& table, engine::Device::Kind device) {
  return table.has(device, DType::f32) ||
         (!table.has(engine::Device::Kind::cpu, DType::f32) && table.has(device, DType::boolean));
}

bool runs_on(const OpEntry& op, engine::Device::Kind device) {
  if (device != engine::Device::Kind::cpu) engine::cuda_status();  // adds the device's rows to the tables
  const std::vector<const engine::OpBase*> tables = engine::tables_of(op.name);
  if (!tables.empty())
    return std::all_of(tables.begin(), tables.end(),
                       [&](const engine::OpBase* table) { return has_rows(*table, device); });
  return samples_find_kernels(op.name, op.samples(), {device, 0});
}

std::vector<Check> check_op(const OpEntry& op, engine::Device device) {
  std::vector<Check> out;
  const OpSamples samples = op.samples();
  const std::vector<const engine::OpBase*> tables = engine::tables_of(op.name);
  const bool has_bf16 = !tables.empty() && std::all_of(tables.begin(), tables.end(), [&](const engine::OpBase* table) {
    return table->has(device.kind, DType::bf16);
  });
  for (const Sample& sample : samples.samples) {
    const SampleChecker checker(op.name, samples, sample, device);
    const auto add = [&](const char* name, std::string (SampleChecker::*check)() const) {
      add_check(out, op.name, sample.label, name, [&] { return (checker.*check)(); });
    };
    if (device.is_cpu()) add("gradcheck", &SampleChecker::gradcheck);
    add("fast", &SampleChecker::fast);
    if (device.is_cpu()) add("reference", &SampleChecker::reference);
    if (has_bf16 && has_floating_input(sample)) add("bf16", &SampleChecker::bf16);
    add("strided", &SampleChecker::strided);
    add("repeated", &SampleChecker::repeated);
    add("needs", &SampleChecker::needs);
    add("threads", &SampleChecker::threads);
    add("unwritten", &SampleChecker::unwritten);
    add("overwritten", &SampleChecker::overwritten);
    add("bound", &SampleChecker::bound);
    if (sample.twin) add("twin", &SampleChecker::twin);
  }
  for (const Refusal& refusal : samples.refusals) {
    if (refusal.by_value && !device.is_cpu()) continue;
    add_check(out, op.name, refusal.label, "refusal", [&] { return check_refusal(op.name, refusal, device); });
  }
  if (!samples.samples.empty())
    add_check(out, op.name, "all", "no kernel", [&] { return check_no_kernel(op, samples.samples[0], device); });
  if (!samples.samples.empty())
    add_check(out, op.name, "all", "undefined", [&] { return check_undefined(op, samples.samples[0]); });
  add_check(out, op.name, "all", "coverage", [&] { return check_coverage(samples); });
  return out;
}

}  // namespace headroom::autograd
