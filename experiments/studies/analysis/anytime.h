#pragma once

namespace headroom::experiments {

/// Critical values that hold however often the data are looked at, and whenever seeds stop being added.
///
/// Of n normal values with unknown mean and spread, E is the Bayes factor of an effect size δ = mean / spread above 0
/// against δ = 0, with δ half-normal of variance 1/g and a right-invariant prior on the spread. It is a martingale in n
/// under δ = 0, so E ≥ 1/α ever happens with probability α at most (Ville, 1939; Lai, 1976, "On confidence sequences";
/// Pérez-Ortiz, Lardy, de Heide and Grünwald, 2024, "E-statistics, group invariance and anytime-valid testing"). It
/// grows with t, so the same holds under every δ below 0.
///
/// In closed form, with t of the n values and Student's T on n degrees of freedom,
///
///     E = 2 √(g / (n + g)) [(1 + t²/ν) / (1 + g t² / ((n + g) ν))]^(n/2) P(T ≤ n t / √((n + g) ν + g t²)),  ν = n − 1.
///
/// Of g from 0.03 to 2 none finds effects of 1, 2 or 3 spreads with fewer seeds in the middle: 10, 5 and 4.
inline constexpr double anytime_g = 0.3;

/// The p-value of t from n values, min(1, 1/E); n need not be whole. 1 below two values, NaN where t is.
double anytime_tail(double t, double n);

/// The t whose p-value is `tail`: infinite where n values are too few for it.
double anytime_quantile(double tail, double n);

}  // namespace headroom::experiments
