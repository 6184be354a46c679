#include "engine/ops/operators.h"

#include "autograd/ops.h"

namespace headroom::autograd {
namespace {

/// The number as an operand of an op on x.
Var beside(const char* op, double c, const Var& x) { return Var(engine::scalar_like(op, c, x.value())); }

}  // namespace

Var operator+(const Var& a, const Var& b) { return add(a, b); }
Var operator-(const Var& a, const Var& b) { return sub(a, b); }
Var operator*(const Var& a, const Var& b) { return mul(a, b); }
Var operator/(const Var& a, const Var& b) { return div(a, b); }
Var operator-(const Var& x) { return neg(x); }

Var operator+(const Var& x, double c) { return add(x, beside("add", c, x)); }
Var operator-(const Var& x, double c) { return sub(x, beside("sub", c, x)); }
Var operator*(const Var& x, double c) { return scale(x, c); }
Var operator/(const Var& x, double c) { return div(x, beside("div", c, x)); }
Var operator+(double c, const Var& x) { return x + c; }
Var operator-(double c, const Var& x) { return sub(beside("sub", c, x), x); }
Var operator*(double c, const Var& x) { return x * c; }
Var operator/(double c, const Var& x) { return div(beside("div", c, x), x); }

Var& operator+=(Var& x, const Var& y) { return x = x + y; }
Var& operator-=(Var& x, const Var& y) { return x = x - y; }
Var& operator*=(Var& x, const Var& y) { return x = x * y; }
Var& operator/=(Var& x, const Var& y) { return x = x / y; }
Var& operator+=(Var& x, double c) { return x = x + c; }
Var& operator-=(Var& x, double c) { return x = x - c; }
Var& operator*=(Var& x, double c) { return x = x * c; }
Var& operator/=(Var& x, double c) { return x = x / c; }

}  // namespace headroom::autograd
