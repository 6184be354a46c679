#include <algorithm>

#include "experiments/tools/new_op/new_op.h"

namespace headroom::experiments {
namespace {

const std::vector<NewOpFormula>& formulas() {
  static const std::vector<NewOpFormula> known{
      {"mish", "x · tanh(log(1 + e^x))", "tanh(log(1 + e^x)) + 4 x e^x (1 + e^x) / (n + 2)², n = e^x (e^x + 2)",
       "/// y = x · tanh(log(1 + e^x)) (Misra, 2019) = x n / (n + 2), n = e^x (e^x + 2), which cancels nowhere. f32: y "
       "within\n"
       "/// 6 ulp; f' within 12 ulp but near its zero at x = -1.19. Left of -64 both are x e^x and (1 + x) e^x.",
       R"(    using std::exp;
    const T e = exp(select(x < T(22.0f), x, T(22.0f))), n = e * (e + T(2.0f));
    const T y = x * (n / (n + T(2.0f)));
    const auto is_tail = x < T(-64.0f);
    if (!any(is_tail)) return y;
    const T t = maximum(T(-1000.0f), x);  // -inf · 0 is no number
    return select(is_tail, times_exp(t, t), y);)",
       R"(    using std::abs;
    using std::exp;
    const T e = exp(select(x < T(22.0f), x, T(22.0f))), n = e * (e + T(2.0f)), m = n + T(2.0f);
    const T slope = n / m + x * (T(4.0f) * e * (T(1.0f) + e) / (m * m));
    const auto is_tail = abs(x) > T(64.0f);
    if (!any(is_tail)) return slope;
    const T t = maximum(T(-1000.0f), x);
    return select(is_tail, select(x < T(0.0f), times_exp(T(1.0f) + t, t), T(1.0f)), slope);)",
       "elementwise(6, 12, 1e-6)"},
      {"softsign", "x / (1 + |x|)", "1 / (1 + |x|)²",
       "/// y = x / (1 + |x|);  dx = dy · 1 / (1 + |x|)². f32: y within 2 ulp, f' within 4.",
       R"(    using std::abs;
    return x / (T(1.0f) + abs(x));)",
       R"(    using std::abs;
    const T r = T(1.0f) / (T(1.0f) + abs(x));
    return r * r;)",
       "elementwise(2, 4)"},
      {"log_sigmoid", "-log(1 + e^-x)", "1 / (1 + e^x)",
       "/// y = -log(1 + e^-x) = -(max(-x, 0) + log(1 + e^-|x|));  dx = dy · 1 / (1 + e^x). f32: y and f' within 6 "
       "ulp, small\n"
       "/// ones too: where 1 + e is rounded, log(1 + e) is put right by e / ((1 + e) - 1) (Kahan).",
       R"(    using std::abs;
    using std::exp;
    using std::log;
    const T e = exp(-abs(x)), u = T(1.0f) + e;
    return -(maximum(-x, T(0.0f)) + select(u == T(1.0f), e, log(u) * (e / (u - T(1.0f)))));)",
       R"(    using std::abs;
    using std::exp;
    const T e = exp(-abs(x));  // never above 1: it cannot overflow
    return select(T(0.0f) < x, e, T(1.0f)) / (T(1.0f) + e);)",
       "elementwise(6, 6)"},
      // The template's own, whose functor is there already.
      {"softplus", "log(1 + e^x)", "1 / (1 + e^-x)", "", "", "", "elementwise(6, 6)"}};
  return known;
}

/// Its own function and derivative, so that the files build and pass their tests before anything is put in.
const NewOpFormula& open_measurement() {
  static const NewOpFormula open{
      "",
      "x: put your function here",
      "1: put its derivative here",
      "/// y = x, in place of your function: put it into f, and its derivative by x into df.",
      "    return x;  // your function of x",
      "    return T(1.0f) + T(0.0f) * x;  // its derivative at x",
      "elementwise(6, 6)"};
  return open;
}

}  // namespace

const NewOpFormula& new_op_formula(const std::string& name) {
  const std::vector<NewOpFormula>& known = formulas();
  const auto found =
      std::find_if(known.begin(), known.end(), [&](const NewOpFormula& formula) { return formula.name == name; });
  return found == known.end() ? open_measurement() : *found;
}

}  // namespace headroom::experiments
