#pragma once
#include <array>
#include <utility>

#include "engine/name_table.h"
#include "models/config.h"

namespace headroom::models {

// The names of a config's enumerations in studies and in config.json.

inline constexpr NameTable<Norm, 3> norm_names{
    {{Norm::none, "none"}, {Norm::layer_norm, "layer_norm"}, {Norm::rms_norm, "rms_norm"}}};
inline constexpr NameTable<NormPlace, 3> norm_place_names{
    {{NormPlace::pre, "pre"}, {NormPlace::post, "post"}, {NormPlace::both, "both"}}};
#define HEADROOM_NAME(NAME, GATED) {Activation::NAME, #NAME},
inline constexpr auto activation_names =
    std::to_array<std::pair<Activation, const char*>>({HEADROOM_ACTIVATIONS(HEADROOM_NAME)});
#undef HEADROOM_NAME
inline constexpr NameTable<Pooling, 3> pooling_names{
    {{Pooling::none, "none"}, {Pooling::mean, "mean"}, {Pooling::last, "last"}}};
inline constexpr NameTable<InitScheme, 5> init_scheme_names{{{InitScheme::torch_linear, "torch_linear"},
                                                             {InitScheme::normal, "normal"},
                                                             {InitScheme::xavier, "xavier"},
                                                             {InitScheme::kaiming, "kaiming"},
                                                             {InitScheme::gpt2, "gpt2"}}};
inline constexpr NameTable<RopeScalingKind, 6> rope_scaling_names{{{RopeScalingKind::none, "none"},
                                                                   {RopeScalingKind::linear, "linear"},
                                                                   {RopeScalingKind::llama3, "llama3"},
                                                                   {RopeScalingKind::yarn, "yarn"},
                                                                   {RopeScalingKind::longrope, "longrope"},
                                                                   {RopeScalingKind::dynamic, "dynamic"}}};

}  // namespace headroom::models
