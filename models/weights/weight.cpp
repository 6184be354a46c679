#include "models/weights/weight.h"

#include <optional>
#include <utility>
#include <vector>

#include "autograd/ops.h"
#include "engine/context.h"
#include "engine/error.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/ops/linear/linear.h"
#include "engine/ops/quantized_linear/quantized_linear.h"

namespace headroom::models {
namespace {

/// Calls the alternative's function; an `Overload{f, g, h}` for std::visit.
template <class... F>
struct Overload : F... {
  using F::operator()...;
};
template <class... F>
Overload(F...) -> Overload<F...>;

/// True if two thin products of `rows` rows take no more multiplications than A · B and one product with it.
bool thin_is_cheaper(double rows, double out, double rank, double in) {
  return rows * rank * (out + in) <= out * rank * in + rows * out * in;
}

/// W (out, in) of the factors.
Var product_of(const LowRank& f) {
  if (f.heads == 1) return autograd::matmul(f.a, f.b);
  const Var a = autograd::reshape(f.a, {f.heads, -1, f.rank()}), b = autograd::reshape(f.b, {f.heads, f.rank(), -1});
  return autograd::reshape(autograd::matmul(a, b), {f.a.dim(0), f.b.dim(1)});  // of (heads, out/heads, in)
}

/// x · Wᵀ + bias, of the factors of every head.
Var linear_of(const LowRank& f, const Var& x, const Var& bias) {
  const Shape& shape = x.shape();
  const auto rows = static_cast<double>(shape.rank() > 0 ? shape.numel(0, shape.rank() - 1) : 1);
  const int64_t head_out = f.a.dim(0) / f.heads;
  const auto out = static_cast<double>(head_out), in = static_cast<double>(f.b.dim(1));
  if (!thin_is_cheaper(rows, out, static_cast<double>(f.rank()), in)) return autograd::linear(x, product_of(f), bias);
  const Var thin = autograd::linear(x, f.b);                                                 // (…, heads · rank)
  if (f.heads == 1) return autograd::linear(thin, f.a, bias);                                // (…, out)
  const Var split = autograd::reshape(thin, {-1, f.heads, f.rank()});                        // (rows, heads, rank)
  const Var y = autograd::reshape(per_head_linear(split, f.a), shape.with(-1, f.a.dim(0)));  // (…, out)
  return bias.defined() ? y + bias : y;
}

/// True if the base's product needs no gradient of its own and is on the tape only for x's.
bool is_one_op(const Adapted& w, const Var& x, const Var& bias) {
  const auto* leaf = std::get_if<Var>(&w.base->form());
  const bool is_frozen =
      leaf ? !leaf->requires_grad() : std::holds_alternative<engine::QuantizedMatrix>(w.base->form());
  const bool is_trained = w.a.requires_grad() || w.b.requires_grad() || x.requires_grad();
  return is_frozen && is_trained && autograd::grad_enabled() && !(bias.defined() && bias.requires_grad()) &&
         x.value().dtype() == w.a.value().dtype();
}

/// The whole product as one op: the tape keeps what each op gives, and the base's product and the term are as large as
/// their sum.
Var trained_linear(const Adapted& w, const Var& x, const Var& bias) {
  Tensor y, thin;
  {
    const autograd::NoGrad no_grad;
    const engine::ActivationsScope scope(engine::Activations::exact);       // the gradient is the exact product's
    y = w.base->linear(x.detach(), bias).value();                           // (…, out)
    thin = (autograd::linear(x.detach(), w.a.detach()) * w.scale).value();  // (…, rank)
    engine::add_inplace(y, engine::linear(thin, w.b.value(), {}));
  }
  const auto* blocks = std::get_if<engine::QuantizedMatrix>(&w.base->form());
  const std::optional format = blocks ? std::optional(blocks->format()) : std::nullopt;
  const Tensor matrix = blocks ? blocks->blocks() : std::get<Var>(w.base->form()).value();
  return autograd::record(
      "adapted_linear", y, {x, w.a, w.b},
      [](const Tensor& dy, const autograd::Needs& needs, const Tensor& kept_x, const Tensor& kept_thin,
         const Tensor& kept_a, const Tensor& kept_b, const Tensor& kept_w,
         std::optional<engine::BlockFormat> kept_format, const Shape& kept_shape,
         double kept_scale) -> std::vector<Tensor> {
        const auto outer =
            engine::linear_grad(dy, kept_thin, kept_b, true, needs[2], false, false, {needs.place(2), {}});
        Tensor base;
        if (needs[0] && kept_format)
          base = engine::quantized_linear_grad(dy, {*kept_format, kept_shape[0], kept_shape[1], kept_w});
        else if (needs[0]) base = engine::linear_grad(dy, kept_x, kept_w, true, false, false, false).dx;
        const Tensor d_thin = engine::mul(outer.dx, Tensor::full({1}, kept_scale, outer.dx.dtype(), outer.dx.device()));
        const auto inner =
            engine::linear_grad(d_thin, kept_x, kept_a, needs[0], needs[1], false, false, {needs.place(1), {}}, base);
        return {inner.dx, inner.dweight, outer.dweight};
      },
      autograd::saved("x", x.value()), autograd::saved("thin", thin), autograd::saved("a", w.a.value()),
      autograd::saved("b", w.b.value()), autograd::saved("weight", matrix), format, w.base->shape(), w.scale);
}

/// x · Wᵀ + bias of the base, and the adapter's term; its thin side is scaled, which is the shorter one.
Var linear_of(const Adapted& w, const Var& x, const Var& bias, bool pads_rows) {
  if (is_one_op(w, x, bias)) return trained_linear(w, x, bias);
  const Var thin = autograd::linear(x, w.a);  // (…, rank)
  return w.base->linear(x, bias, pads_rows) + autograd::linear(thin * w.scale, w.b);
}

}  // namespace

Var per_head_linear(const Var& x, const Var& weight) {
  const Shape shape = x.shape();
  require(shape.rank() >= 2 && weight.shape().rank() == 2 && weight.dim(1) == shape[-1] && shape[-2] > 0 &&
              weight.dim(0) % shape[-2] == 0,
          "per_head_linear: expected x (..., heads, in) and weight (heads * out, in), got {} and {}", x.value().str(),
          weight.value().str());
  const int64_t heads = shape[-2], in = shape[-1], out = weight.dim(0) / heads;
  const int64_t rows = shape.numel(0, shape.rank() - 2);
  const Var maps = autograd::reshape(weight, {heads, out, in});
  // One row needs no transposition, and decoding has many of these.
  if (rows == 1)
    return autograd::reshape(autograd::matmul(autograd::reshape(x, {heads, 1, in}), maps, false, true),
                             shape.with(-1, out));
  const Var by_head = autograd::permute(autograd::reshape(x, {rows, heads, in}), {1, 0, 2});  // (H, N, in)
  const Var y = autograd::matmul(by_head, maps, false, true);                                 // (H, N, out)
  return autograd::reshape(autograd::permute(y, {1, 0, 2}), shape.with(-1, out));
}

Weight::Weight(Var leaf) : form_(std::move(leaf)) {
  const Var& matrix = std::get<Var>(form_);
  require(matrix.defined() && matrix.value().rank() == 2, "weight: expected a matrix (out, in), got {}",
          matrix.defined() ? matrix.value().str() : "nothing");
}

Weight::Weight(engine::QuantizedMatrix matrix) : form_(std::move(matrix)) {
  require(defined(), "weight: the quantised matrix is undefined");
}

Weight::Weight(LowRank factors) : form_(std::move(factors)) {
  const auto& [a, b, heads] = std::get<LowRank>(form_);
  require(a.defined() && b.defined() && heads >= 1 && a.value().rank() == 2 && b.value().rank() == 2 &&
              a.dim(0) % heads == 0 && a.dim(1) * heads == b.dim(0),
          "weight: expected factors (out, rank) and ({}rank, in), got {} and {}",
          heads == 1 ? "" : fmt::format("{} * ", heads), a.defined() ? a.value().str() : "nothing",
          b.defined() ? b.value().str() : "nothing");
}

Weight::Weight(Adapted adapted) : form_(std::move(adapted)) {
  const auto& [base, a, b, scale] = std::get<Adapted>(form_);
  require(base && a.defined() && b.defined() && a.value().rank() == 2 && b.value().rank() == 2 &&
              a.dim(0) == b.dim(1) && base->shape() == Shape{b.dim(0), a.dim(1)},
          "weight: an adapter's factors {} and {} do not fit a matrix {}", a.defined() ? a.value().str() : "nothing",
          b.defined() ? b.value().str() : "nothing", base ? base->shape().str() : "nothing");
}

bool Weight::defined() const {
  return std::visit(Overload{[](const LowRank& f) { return f.a.defined(); },
                             [](const Adapted& w) { return w.a.defined(); }, [](const auto& m) { return m.defined(); }},
                    form_);
}

Shape Weight::shape() const {
  return std::visit(
      Overload{[](const LowRank& f) {
                 return Shape{f.a.dim(0), f.b.dim(1)};
               },
               [](const Adapted& w) { return w.base->shape(); }, [](const auto& m) { return Shape(m.shape()); }},
      form_);
}

Weight Weight::watched(std::function<void(const Tensor& x)> watch) const {
  Weight other = *this;
  other.watch_ = std::move(watch);
  return other;
}

Var Weight::linear(const Var& x, const Var& bias, bool pads_rows) const {
  if (watch_) watch_(x.value());
  return std::visit(Overload{[&](const Var& w) { return autograd::linear(x, w, bias, pads_rows); },
                             [&](const engine::QuantizedMatrix& w) { return autograd::quantized_linear(x, w, bias); },
                             [&](const LowRank& f) { return linear_of(f, x, bias); },
                             [&](const Adapted& w) { return linear_of(w, x, bias, pads_rows); }},
                    form_);
}

Var Weight::rows(const Tensor& indices, engine::DType dtype) const {
  return std::visit(
      Overload{[&](const Var& w) { return autograd::embedding(w, indices); },
               [&](const engine::QuantizedMatrix& w) { return Var(engine::quantized_rows(w, indices, dtype)); },
               [&](const LowRank& f) {
                 if (f.heads > 1) return autograd::embedding(product_of(f), indices);
                 return autograd::linear(autograd::embedding(f.a, indices), autograd::transpose(f.b, 0, 1));
               },
               [&](const Adapted& w) {
                 const Var thin = autograd::embedding(w.b, indices) * w.scale;  // (…, rank)
                 return w.base->rows(indices, dtype) + autograd::linear(thin, autograd::transpose(w.a, 0, 1));
               }},
      form_);
}

Tensor Weight::values(engine::DType dtype) const {
  return std::visit(Overload{[&](const Var& w) { return w.value().to(dtype); },
                             [&](const engine::QuantizedMatrix& w) { return w.dequantize(dtype); },
                             [&](const LowRank& f) {
                               const autograd::NoGrad no_grad;
                               const LowRank converted{Var(f.a.value().to(dtype)), Var(f.b.value().to(dtype)), f.heads};
                               return product_of(converted).value();
                             },
                             [&](const Adapted& w) {
                               const autograd::NoGrad no_grad;
                               const Var a(w.a.value().to(dtype)), b(w.b.value().to(dtype));
                               return (Var(w.base->values(dtype)) + autograd::matmul(b, a) * w.scale).value();
                             }},
                    form_);
}

std::string Weight::describe() const {
  const auto frozen = [](bool is_trained) { return is_trained ? "" : ", frozen"; };
  return std::visit(
      Overload{
          [&](const Var& w) { return std::string(frozen(w.requires_grad())); },
          [&](const engine::QuantizedMatrix& w) { return fmt::format(", {}", engine::traits_of(w.format()).name); },
          [&](const LowRank& f) {
            return fmt::format(", rank {}{}{}", f.rank(), f.heads > 1 ? " per head" : "",
                               frozen(f.a.requires_grad() || f.b.requires_grad()));
          },
          [](const Adapted& w) { return fmt::format("{}, adapted by rank {}", w.base->describe(), w.a.dim(0)); }},
      form_);
}

}  // namespace headroom::models
