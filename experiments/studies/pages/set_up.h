#pragma once
#include <string>

#include "experiments/studies/analysis/analysis.h"
#include "experiments/studies/config/tasks/words.h"

/// What a study trains, in words.
namespace headroom::experiments {

/// Whether a settings line tells those x at which the chosen rate is an end of the values tried.
enum class Edges { told, left_out };

/// What a study's trials were trained with, in one line for readers: widths, layers, steps, batches, rates with those x
/// at which the chosen one is an end of the values tried and series with one rate for every x, seeds, positions, the
/// first scored position. A setting that differs between trials is given with all its values, or with the first and the
/// last of many. "" without trials that train.
///
///     D 64, 256 · 1 layer · 300 to 600 steps of 32 sequences · adamw, rates 0.01 to 0.08 (…) · 3 seeds · sinusoidal,
///     alibi
std::string settings_line(const Analysis& results, Edges edges = Edges::told);

/// The words of the task of a study's first trial, and in which keys the tasks of its other trials differ. Empty
/// without trials.
TaskWords task_words(const Analysis& results);

}  // namespace headroom::experiments
