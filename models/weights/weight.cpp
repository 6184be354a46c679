#include "models/weights/weight.h"

#include <utility>

#include "autograd/ops.h"
#include "engine/error.h"
#include "engine/ops/matmul/matmul.h"

namespace headroom::models {
namespace {

/// Calls the alternative's function; an `Overload{f, g, h}` for std::visit.
template <class... F>
struct Overload : F... {
  using F::operator()...;
};
template <class... F>
Overload(F...) -> Overload<F...>;

/// Whether two thin products of `rows` rows take no more multiplications than A · B and one product with it.
bool thin_is_cheaper(double rows, double out, double rank, double in) {
  return rows * rank * (out + in) <= out * rank * in + rows * out * in;
}

}  // namespace

Weight::Weight(Var leaf) : form_(std::move(leaf)) {
  const Var& matrix = std::get<Var>(form_);
  require(matrix.defined() && matrix.value().rank() == 2, "weight: wants a matrix (out, in), got {}",
          matrix.defined() ? matrix.value().str() : "nothing");
}

Weight::Weight(engine::QuantizedMatrix matrix) : form_(std::move(matrix)) {
  require(defined(), "weight: the quantised matrix is undefined");
}

Weight::Weight(LowRank factors) : form_(std::move(factors)) {
  const auto& [a, b] = std::get<LowRank>(form_);
  require(a.defined() && b.defined() && a.value().rank() == 2 && b.value().rank() == 2 && a.dim(1) == b.dim(0),
          "weight: wants factors (out, rank) and (rank, in), got {} and {}", a.defined() ? a.value().str() : "nothing",
          b.defined() ? b.value().str() : "nothing");
}

bool Weight::defined() const {
  return std::visit(Overload{[](const LowRank& f) { return f.a.defined(); }, [](const auto& m) { return m.defined(); }},
                    form_);
}

Shape Weight::shape() const {
  return std::visit(Overload{[](const LowRank& f) {
                               return Shape{f.a.dim(0), f.b.dim(1)};
                             },
                             [](const auto& m) { return Shape(m.shape()); }},
                    form_);
}

Var Weight::linear(const Var& x, const Var& bias) const {
  return std::visit(Overload{[&](const Var& w) { return autograd::linear(x, w, bias); },
                             [&](const engine::QuantizedMatrix& w) { return autograd::quantized_linear(x, w, bias); },
                             [&](const LowRank& f) {
                               const Shape& shape = x.shape();
                               const auto rows =
                                   static_cast<double>(shape.rank() > 0 ? shape.numel(0, shape.rank() - 1) : 1);
                               const auto out_dim = static_cast<double>(out()), in_dim = static_cast<double>(in());
                               if (thin_is_cheaper(rows, out_dim, static_cast<double>(f.rank()), in_dim))
                                 return autograd::linear(autograd::linear(x, f.b), f.a, bias);  // (…, rank), (…, out)
                               return autograd::linear(x, autograd::matmul(f.a, f.b), bias);    // (…, out)
                             }},
                    form_);
}

Var Weight::rows(const Tensor& indices, engine::DType dtype) const {
  return std::visit(
      Overload{[&](const Var& w) { return autograd::embedding(w, indices); },
               [&](const engine::QuantizedMatrix& w) { return Var(engine::quantized_rows(w, indices, dtype)); },
               [&](const LowRank& f) {
                 return autograd::linear(autograd::embedding(f.a, indices), autograd::transpose(f.b, 0, 1));
               }},
      form_);
}

Tensor Weight::values(engine::DType dtype) const {
  return std::visit(Overload{[&](const Var& w) { return w.value().to(dtype); },
                             [&](const engine::QuantizedMatrix& w) { return w.dequantize(dtype); },
                             [&](const LowRank& f) {
                               return engine::matmul(f.a.value().to(dtype), f.b.value().to(dtype));  // (out, in)
                             }},
                    form_);
}

std::string Weight::describe() const {
  const auto frozen = [](bool is_trained) { return is_trained ? "" : ", frozen"; };
  return std::visit(
      Overload{
          [&](const Var& w) { return std::string(frozen(w.requires_grad())); },
          [&](const engine::QuantizedMatrix& w) { return fmt::format(", {}", engine::layout_of(w.format()).name); },
          [&](const LowRank& f) {
            return fmt::format(", rank {}{}", f.rank(), frozen(f.a.requires_grad() || f.b.requires_grad()));
          }},
      form_);
}

}  // namespace headroom::models
