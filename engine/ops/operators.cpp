#include "engine/ops/operators.h"

#include "engine/error.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/ops/elementwise/unary.h"
#include "engine/ops/scale/scale.h"

namespace headroom::engine {

Tensor scalar_like(const char* op, double value, const Tensor& x) {
  require(x.defined(), "{}: the operand beside {} is undefined", op, value);
  if (!is_floating(x.dtype()) && Tensor::full({}, value, x.dtype()).item() != value)
    fail("{}: {} is no value of {}: x {}", op, value, name_of(x.dtype()), x.str());
  return Tensor::full({}, value, x.dtype(), x.device());  // ()
}

Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
Tensor operator-(const Tensor& x) { return neg(x); }

Tensor operator+(const Tensor& x, double c) { return add(x, scalar_like("add", c, x)); }
Tensor operator-(const Tensor& x, double c) { return sub(x, scalar_like("sub", c, x)); }
Tensor operator*(const Tensor& x, double c) { return scale(x, c); }
Tensor operator/(const Tensor& x, double c) { return div(x, scalar_like("div", c, x)); }
Tensor operator+(double c, const Tensor& x) { return x + c; }
Tensor operator-(double c, const Tensor& x) { return sub(scalar_like("sub", c, x), x); }
Tensor operator*(double c, const Tensor& x) { return x * c; }
Tensor operator/(double c, const Tensor& x) { return div(scalar_like("div", c, x), x); }

Tensor& operator+=(Tensor& x, const Tensor& y) { return x = x + y; }
Tensor& operator-=(Tensor& x, const Tensor& y) { return x = x - y; }
Tensor& operator*=(Tensor& x, const Tensor& y) { return x = x * y; }
Tensor& operator/=(Tensor& x, const Tensor& y) { return x = x / y; }
Tensor& operator+=(Tensor& x, double c) { return x = x + c; }
Tensor& operator-=(Tensor& x, double c) { return x = x - c; }
Tensor& operator*=(Tensor& x, double c) { return x = x * c; }
Tensor& operator/=(Tensor& x, double c) { return x = x / c; }

}  // namespace headroom::engine
