#pragma once
#include "autograd/var.h"

namespace headroom::autograd {

/// Elementwise: add, sub, mul, div and neg. Shapes broadcast as in NumPy.
Var operator+(const Var& a, const Var& b);
Var operator-(const Var& a, const Var& b);
Var operator*(const Var& a, const Var& b);
Var operator/(const Var& a, const Var& b);
Var operator-(const Var& x);

/// With a number, first rounded to x's dtype and without a gradient. x · c is scale(x, c).
Var operator+(const Var& x, double c);
Var operator-(const Var& x, double c);
Var operator*(const Var& x, double c);
Var operator/(const Var& x, double c);
Var operator+(double c, const Var& x);
Var operator-(double c, const Var& x);
Var operator*(double c, const Var& x);
Var operator/(double c, const Var& x);

/// x = x + y, and so on: x becomes a handle on a new value, whose gradient reaches the old one. Nothing is written in
/// place, so a leaf is no longer a leaf after `x += y`.
Var& operator+=(Var& x, const Var& y);
Var& operator-=(Var& x, const Var& y);
Var& operator*=(Var& x, const Var& y);
Var& operator/=(Var& x, const Var& y);
Var& operator+=(Var& x, double c);
Var& operator-=(Var& x, double c);
Var& operator*=(Var& x, double c);
Var& operator/=(Var& x, double c);

}  // namespace headroom::autograd
