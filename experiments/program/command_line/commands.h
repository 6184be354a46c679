#pragma once
#include "experiments/program/command_line/arguments.h"

namespace headroom::experiments {

/// `run STUDY.toml`: trains what is missing, then writes and prints the report. A stop by SIGINT or SIGTERM exits 130.
void add_run_command(Command app);
/// `status [STUDY…] [--watch]`: what the stores under --out have finished, and what is being trained.
void add_status_command(Command app);
/// `serve`: the runs under --out in a browser, while they train.
void add_serve_command(Command app);
/// `compare RUN RUN`: settings that differ, and metrics side by side.
void add_compare_command(Command app);
/// `tag RUN [TAG…]` and `note RUN [TEXT]`: what people say of a run, kept in its store.
void add_tag_command(Command app);
void add_note_command(Command app);
/// `rm RUN…`: deletes runs, with a question.
void add_rm_command(Command app);
/// `report STUDY.toml…`: renders again what the store has. Without a study: every claim of every study that has a
/// report. `report --paper`: every number of the paper beside ours.
void add_report_command(Command app);
/// `verify STUDY.toml…`: the verdicts on their claims; exits 1 when one fails or a study was not run.
void add_verify_command(Command app);
/// `export csv|json|tensorboard|wandb|trials`: the trials of all run stores.
void add_export_command(Command app);
/// `import FILE|FOLDER…`: puts what `export trials` wrote into run stores.
void add_import_command(Command app);
/// `list [DIR]`: the studies of a folder with their profiles and numbers of trials; exits 1 when one is wrong.
void add_list_command(Command app);
/// `schema [--json]`: every key that a study file may have.
void add_schema_command(Command app);
/// `plan`: how to split a width between heads, what the bounds say of it, and what a model costs.
void add_plan_command(Command app);
/// `ops`: every op and the backends that it has.
void add_ops_command(Command app);
/// `data list|fetch|verify [NAME]`: the data sets of the manifest, looked for under --data and in the cache.
void add_data_command(Command app);
/// `tokenize --tokenizer PATH [--text S | --text-file F] [--json] [--plain]`: the ids of a text.
void add_tokenize_command(Command app);
/// `generate MODEL --prompt TEXT`: continues a text.
void add_generate_command(Command app);
/// `chat MODEL`: a conversation on the terminal.
void add_chat_command(Command app);
/// `eval MODEL --text FILE --protocol P --context N`: perplexity.
void add_eval_command(Command app);
/// `logits MODEL --tokens 1,2,3 [--top K] [--json]`: what a trained model predicts after each token.
void add_logits_command(Command app);
/// `compress MODEL -o OUT --method M --rank R --format F`: a trained model with smaller heads.
void add_compress_command(Command app);
/// `convert MODEL -o OUT [--dtype T] [--force]`: a model as a GGUF file or a Hugging Face folder.
void add_convert_command(Command app);
/// `probe MODEL --text FILE [-o PAGE]`: what every head of a trained model does, and how much of its width it needs.
void add_probe_command(Command app);
/// `finetune MODEL -o OUT --text FILE|--table FILE`: trains a trained model further, and writes it.
void add_finetune_command(Command app);
/// `verify-model MODEL --against FILE`: whether a copy of a model computes what it should; exits 1 when it does not.
void add_verify_model_command(Command app);
/// `spectrum FILE.safetensors --tensor A [--times B] [--rank r] [--json]`: the singular values of A or of AᵀB.
void add_spectrum_command(Command app);
/// `bench WORKLOAD [--dtype f32] [--threads N] [--seconds S] [--json] [--workloads FILE] [--forward-only]`: times the
/// training steps of a workload.
void add_bench_command(Command app);
/// `new-op NAME [--dir DIR]`: write_new_op, and what to do next.
void add_new_op_command(Command app);
/// `doctor`: what was found on this machine, and what it means. `doctor STORE… [--repair]`: whether the bytes of run
/// stores, weights and checkpoints are those that were written; exits 1 when some are not.
void add_doctor_command(Command app);

/// `completion bash|zsh|fish`: the shell's script, whose candidates come from `completion words`, which reads the words
/// of a command line from standard input. Hidden from the help. `line` must have all other commands and outlive this
/// one.
void add_completion_command(CommandLine& line);
/// `help [COMMAND…]`: what `headroom COMMAND --help` prints. Hidden likewise.
void add_help_command(CommandLine& line);
/// `man [COMMAND]`: the program's page or a command's, as roff; `man --to FOLDER` writes all. Hidden likewise.
void add_man_command(CommandLine& line);

}  // namespace headroom::experiments
