#include "autograd/op_suite/data.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "autograd/gradcheck.h"
#include "engine/error.h"

namespace headroom::autograd::op_suite {
namespace {

using engine::DType;

std::string unlike(const Tensor& got, const Tensor& want) {
  if (got.defined() != want.defined() || (got.defined() && got.shape() != want.shape()))
    return fmt::format("got {}, expected {}", got.str(), want.str());
  return "";
}

template <class CompareValue, class CompareGradient>
std::string compare_runs(const Run& got, const Run& want, const std::vector<Input>& inputs, const CompareValue& value,
                         const CompareGradient& gradient) {
  if (const std::string difference = value(got.value, want.value); !difference.empty()) return "value: " + difference;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string difference = gradient(got.gradients[i], want.gradients[i]);
    if (!difference.empty()) return "gradient of " + inputs[i].name + ": " + difference;
  }
  return "";
}

}  // namespace

engine::RngKey key_of(const std::string& name) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const unsigned char c : name) hash = (hash ^ c) * 1099511628211u;
  return {hash, 0, 0};
}

std::vector<Tensor> make_data(const std::string& name, const std::vector<Input>& inputs, DType dtype) {
  std::vector<Tensor> data;
  for (const Input& input : inputs) {
    const engine::RngKey key = key_of(name + "/" + input.name);
    switch (input.fill) {
      case Input::Fill::normal:
        data.push_back(engine::random_normal(input.shape, 0, 1, key).to(dtype));
        break;
      case Input::Fill::uniform:
        data.push_back(engine::random_uniform(input.shape, input.low, input.high, key).to(dtype));
        break;
      case Input::Fill::integers:
        data.push_back(engine::random_integers(input.shape, static_cast<int64_t>(input.low),
                                               static_cast<int64_t>(input.high), key));
        break;
      case Input::Fill::booleans: {
        std::vector<float> values = engine::random_uniform(input.shape, 0, 1, key).to_vector<float>();
        for (float& v : values) v = v < static_cast<float>(input.low) ? 1.0f : 0.0f;
        data.push_back(Tensor::from<float>(input.shape, values).to(DType::boolean));
        break;
      }
    }
  }
  return data;
}

Tensor laid_out(const Tensor& x, Layout layout) {
  if (layout == Layout::transposed) {
    std::vector<int> reversed;
    for (int axis = x.rank() - 1; axis >= 0; --axis) reversed.push_back(axis);
    return x.permute(reversed).clone().permute(reversed);
  }
  if (layout == Layout::sliced && x.rank() > 0) {
    const int64_t n = x.dim(-1);
    const Tensor window = Tensor::zeros(x.shape().with(-1, n + 3), x.dtype(), x.device()).slice(-1, 2, n + 2);
    copy_inplace(window, x);
    return window;
  }
  const Tensor view =
      Tensor::zeros({x.numel() + 1}, x.dtype(), x.device()).slice(0, 1, x.numel() + 1).reshape(x.shape());
  copy_inplace(view, x);
  return view;
}

Tensor other_than(const Tensor& x) {
  std::vector<double> values = x.to_vector<double>();
  for (double& v : values) {
    if (x.dtype() == DType::boolean) v = v == 0 ? 1 : 0;
    else if (engine::is_floating(x.dtype())) v = 3 - v / 2;
    else v += 1e12;
  }
  return Tensor::from(x.shape(), values).to(x.dtype()).to(x.device());
}

Tensor cotangent_for(const std::string& name, const Tensor& value) {
  return engine::random_normal(value.shape(), 0, 1, key_of(name + "/cotangent")).to(value.dtype()).to(value.device());
}

Run run(const std::string& name, const Function& f, const std::vector<Tensor>& inputs, const std::vector<bool>& wanted,
        const Tensor& cotangent, const std::function<void()>& between) {
  std::vector<Var> variables;
  for (size_t i = 0; i < inputs.size(); ++i) variables.emplace_back(inputs[i], wanted[i]);
  const Var y = f(variables);
  if (!engine::is_floating(y.value().dtype())) fail("the result is {}", y.value().str());
  Run out{y.value(), {}, y.requires_grad()};
  if (between) between();
  if (out.recorded) y.backward(cotangent.defined() ? cotangent : cotangent_for(name, y.value()));
  for (const Var& variable : variables) out.gradients.push_back(variable.grad());
  return out;
}

/// The distance of neighbouring numbers of a dtype at `value`.
static double ulp_at(DType dtype, double value) {
  const auto [digits, lowest] = dtype == DType::bf16  ? std::pair{7, -126}
                                : dtype == DType::f16 ? std::pair{10, -14}
                                : dtype == DType::f64 ? std::pair{52, -1022}
                                                      : std::pair{23, -126};
  const int exponent = value == 0 || !std::isfinite(value) ? lowest : std::ilogb(value);
  return std::ldexp(1.0, std::max(exponent, lowest) - digits);
}

std::string compare_close(const Tensor& got, const Tensor& want, Tolerance tolerance) {
  if (std::string difference = unlike(got, want); !difference.empty() || !got.defined()) return difference;
  const std::vector<double> a = got.to_vector<double>(), b = want.to_vector<double>();
  double size = tolerance.least;
  for (const double x : b)
    if (std::isfinite(x)) size = std::max(size, std::fabs(x));
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double allowed = tolerance.ulps * ulp_at(got.dtype(), b[i]) + tolerance.scale * size;
    if (std::fabs(a[i] - b[i]) <= allowed) continue;  // false for NaN
    return fmt::format("element {}: got {:.9g}, expected {:.9g} (tolerance {:.2g})",
                       element_name(got.shape(), static_cast<int64_t>(i)), a[i], b[i], allowed);
  }
  return "";
}

std::string compare_bits(const Tensor& got, const Tensor& want) {
  if (std::string difference = unlike(got, want); !difference.empty() || !got.defined()) return difference;
  if (got.dtype() != want.dtype()) return fmt::format("got {}, expected {}", got.str(), want.str());
  const Tensor a = got.contiguous().to(engine::cpu), b = want.contiguous().to(engine::cpu);
  const int64_t size = size_of(a.dtype());
  const auto *p = static_cast<const char*>(a.raw()), *q = static_cast<const char*>(b.raw());
  std::vector<double> x, y;  // filled at the first difference: most tensors have none
  for (int64_t i = 0; i < a.numel(); ++i) {
    if (std::memcmp(p + i * size, q + i * size, static_cast<size_t>(size)) == 0) continue;
    if (x.empty()) x = a.to_vector<double>(), y = b.to_vector<double>();
    const auto e = static_cast<size_t>(i);
    if (std::isnan(x[e]) && std::isnan(y[e])) continue;  // a GPU's NaN has other bits than a CPU's
    return fmt::format("element {}: got {:.17g}, expected the bits of {:.17g}", element_name(a.shape(), i), x[e], y[e]);
  }
  return "";
}

std::string compare_close(const Run& got, const Run& want, const std::vector<Input>& inputs, Tolerance value,
                          Tolerance gradient) {
  return compare_runs(
      got, want, inputs, [&](const Tensor& a, const Tensor& b) { return compare_close(a, b, value); },
      [&](const Tensor& a, const Tensor& b) { return compare_close(a, b, gradient); });
}

std::string compare_bits(const Run& got, const Run& want, const std::vector<Input>& inputs) {
  const auto bits = [](const Tensor& a, const Tensor& b) { return compare_bits(a, b); };
  return compare_runs(got, want, inputs, bits, bits);
}

}  // namespace headroom::autograd::op_suite
