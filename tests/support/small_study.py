"""The study of the scripts that run commands on it: its trials take milliseconds."""


def small_study(name, title, train, sweep, model="ffn_width = 0", more=""):
    """Its file. `train`, `sweep`, `model` and `more` are lines of TOML: of their tables, and at the end."""
    return f"""
[study]
id = "{name}"
title = "{title}"
[task]
kind = "linear-functional"
kernel = {{ kind = "n-gram", n = 2 }}
token_dim = 2
length = 6
first_position = 1
[model]
kind = "encoder"
layers = 1
width = 8
head_dim = "width / heads"
positions = "sinusoidal"
causal = true
heads = 1
{model}
[train]
batch = 4
optimizer = {{ kind = "adamw", lr = 1e-3, beta2 = 0.99 }}
{train}
[sweep]
{sweep}
[report]
x = {{ key = "model.heads", scale = "log2" }}
y = {{ metric = "relative_mse", scale = "log10" }}
{more}
"""
