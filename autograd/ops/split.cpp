#include <memory>
#include <utility>

#include "autograd/ops.h"
#include "engine/error.h"

namespace headroom::autograd {
namespace {

/// The gradient of the input of split(), made with the first part's. Each part's gradient has its place in it.
class WholeGradient {
 public:
  WholeGradient(const Tensor& x, std::vector<int64_t> sizes, int axis)
      : shape_(x.shape()),
        dtype_(x.dtype()),
        device_(x.device()),
        axis_(axis),
        sizes_(std::move(sizes)),
        is_there_(sizes_.size()) {}

  Tensor place(size_t part) {
    if (!gradient_.defined()) gradient_ = Tensor::empty(shape_, dtype_, device_);
    int64_t begin = 0;
    for (size_t i = 0; i < part; ++i) begin += sizes_[i];
    return gradient_.slice(axis_, begin, begin + sizes_[part]);
  }
  /// Takes what may have been written to the part's place.
  void put(size_t part, const Tensor& g) {
    const Tensor to = place(part);
    is_there_[part] = true;
    if (!g.shares_storage(to) || g.raw() != to.raw() || g.strides() != to.strides()) engine::copy_inplace(to, g);
  }
  /// All of it: zero where a part got none.
  Tensor take() {
    for (size_t part = 0; part < sizes_.size(); ++part)
      if (!is_there_[part])
        engine::copy_inplace(place(part), Tensor::zeros({1}, dtype_, device_).expand(place(part).shape()));
    return std::exchange(gradient_, Tensor());
  }

 private:
  Shape shape_;
  engine::DType dtype_;
  engine::Device device_;
  int axis_;
  std::vector<int64_t> sizes_;
  std::vector<bool> is_there_;
  Tensor gradient_;
};

}  // namespace

std::vector<Var> split(const Var& x, const std::vector<int64_t>& sizes, int axis) {
  require(x.defined(), "split: operand x is undefined");
  const int along = x.shape().index(axis, "split");
  int64_t rest = x.dim(along);
  bool fits = true;
  for (const int64_t size : sizes) {
    fits = fits && size >= 0 && size <= rest;
    if (fits) rest -= size;
  }
  if (!fits || rest != 0)
    fail("split: {} sizes do not add up to axis {} of x {}, which has {}", sizes.size(), axis, x.shape().str(),
         x.dim(along));
  // An op of the tape has one result. This one's is a number without meaning: the parts hand it their gradients, and
  // then the tape gives it its turn. They have x as an operand that wants none, so that the tape sees writes to it.
  const auto whole = std::make_shared<WholeGradient>(x.value(), sizes, along);
  const Var joint = detail::record("split", Tensor::zeros({}), {x},
                                   [whole](const Tensor&, const Needs&) { return std::vector<Tensor>{whole->take()}; });
  std::vector<Var> parts;
  int64_t begin = 0;
  for (size_t i = 0; i < sizes.size(); begin += sizes[i++])
    parts.push_back(detail::record(
        "split", x.value().slice(along, begin, begin + sizes[i]), {joint, x.detach()},
        [whole, i](const Tensor& dy, const Needs&) {
          whole->put(i, dy);
          return std::vector<Tensor>{Tensor::zeros({}), Tensor()};
        },
        [whole, i] { return whole->place(i); }));
  return parts;
}

std::vector<Var> chunk(const Var& x, int64_t n, int axis) {
  require(x.defined(), "chunk: operand x is undefined");
  const int along = x.shape().index(axis, "chunk");
  if (n < 1 || x.dim(along) % n != 0) fail("chunk: axis {} of x {} is not cut in {}", axis, x.shape().str(), n);
  return split(x, std::vector<int64_t>(static_cast<size_t>(n), x.dim(along) / n), along);
}

}  // namespace headroom::autograd
