#include "models/op_library/op_library.h"

#include "models/op_library/parts.h"

namespace headroom::models {
namespace {

using autograd::Var;
using engine::DType, engine::Tensor;

engine::Op<LibraryCall>::Rows library_rows(engine::IsaSet levels) {
  using engine::detail::run_unary;
  return {{.name = "library",
           .dtypes = DType::f32,
           .run = [](LibraryCall& call) { run_unary<float>(call, call.kernels->forward.best()); },
           .levels = levels},
          {.name = "loops",
           .dtypes = DType::f32,
           .run = [](LibraryCall& call) { run_unary<float>(call, call.kernels->given.forward_f32); },
           .is_reference = true},
          {.name = "loops",
           .dtypes = DType::f64,
           .run = [](LibraryCall& call) { run_unary<double>(call, call.kernels->given.forward_f64); },
           .is_reference = true}};
}

engine::Op<LibraryGradCall>::Rows library_grad_rows(engine::IsaSet levels) {
  using engine::detail::run_unary_grad;
  return {{.name = "library",
           .dtypes = DType::f32,
           .run = [](LibraryGradCall& call) { run_unary_grad<float>(call, call.kernels->backward.best()); },
           .levels = levels},
          {.name = "loops",
           .dtypes = DType::f32,
           .run = [](LibraryGradCall& call) { run_unary_grad<float>(call, call.kernels->given.backward_f32); },
           .is_reference = true},
          {.name = "loops",
           .dtypes = DType::f64,
           .run = [](LibraryGradCall& call) { run_unary_grad<double>(call, call.kernels->given.backward_f64); },
           .is_reference = true}};
}

/// What a vjp is given to find its op: ops of libraries are never freed.
struct GradOf {
  const LibraryOp::Parts* op;
};

Tensor library_grad(const LibraryOp::Parts& op, const Tensor& dy, const Tensor& x, const Tensor& y) {
  LibraryGradCall call;
  call.dy = dy, call.x = x, call.y = y;
  call.kernels = &op.kernels;
  op.grad.check(call);
  op.grad.check_same_shape(call);
  call.dx = Tensor::empty(dy.shape(), dy.dtype(), dy.device());
  if (call.dx.numel() > 0) op.grad.run(call);
  return call.dx;
}

}  // namespace

LibraryOp::Parts::Parts(const std::string& op, const LibraryKernels& from)
    : name(op),
      grad_name(op + "_grad"),
      kernels(from),
      forward(name.c_str(), library_rows(from.forward.levels())),
      grad(grad_name.c_str(), library_grad_rows(from.backward.levels())) {}

LibraryOp::LibraryOp(std::unique_ptr<const Parts> parts) : parts_(std::move(parts)) {}
LibraryOp::~LibraryOp() = default;

const std::string& LibraryOp::name() const { return parts_->name; }

Var LibraryOp::operator()(const Var& x) const {
  LibraryCall call;
  call.x = x.value();
  call.kernels = &parts_->kernels;
  parts_->forward.check(call);
  const Tensor y = Tensor::empty(call.x.shape(), call.x.dtype(), call.x.device());
  call.y = y;
  if (y.numel() > 0) parts_->forward.run(call);
  const bool reads_x = parts_->kernels.given.reads_x != 0, reads_y = parts_->kernels.given.reads_y != 0;
  return autograd::record(
      parts_->name.c_str(), y, {x},
      [](const Tensor& dy, const autograd::Needs&, const Tensor& kept_x, const Tensor& kept_y,
         const GradOf& of) -> std::vector<Tensor> { return {library_grad(*of.op, dy, kept_x, kept_y)}; },
      autograd::saved("x", reads_x ? x.value() : Tensor()), autograd::saved("y", reads_y ? y : Tensor()),
      GradOf{parts_.get()});
}

}  // namespace headroom::models
