#pragma once
#include "experiments/program/command_line/arguments.h"

namespace headroom::experiments {

/// Each function adds the command of its name to the program, or those in its comment. The command's help says what it
/// does; unless it says more, the exit status is 0, or 1 after an error.
void add_answer_command(Command app);
void add_bench_command(Command app);
void add_compress_command(Command app);
void add_convert_command(Command app);
void add_data_command(Command app);    ///< data list, fetch, verify: looked for under --data and in the cache
void add_doctor_command(Command app);  ///< exits 1 when a store is damaged
void add_eval_command(Command app);
void add_export_commands(Command app);  ///< export, import
void add_finetune_command(Command app);
void add_generate_commands(Command app);  ///< generate, chat
void add_judge_command(Command app);      ///< exits 1 when a claim fails, 3 when none fails and one is open
void add_list_commands(Command app);      ///< list, schema
void add_logits_command(Command app);
void add_new_op_command(Command app);
void add_ops_command(Command app);
void add_plan_command(Command app);
void add_probe_command(Command app);
void add_register_command(Command app);
void add_report_commands(Command app);  ///< report, verify; verify exits 1 when a claim fails or was not run
void add_run_command(Command app);      ///< exits 130 when a signal stops it
void add_runs_commands(Command app);    ///< compare, tag, note, rm
void add_serve_command(Command app);
void add_spectrum_command(Command app);
void add_status_command(Command app);  ///< with --watch exits 1 if nobody trains the remaining trials
void add_submit_command(Command app);
void add_tokenize_command(Command app);
void add_verify_model_command(Command app);  ///< exits 1 if the model's results differ

/// `completion bash|zsh|fish`: the shell's script, whose candidates come from `completion words`, which reads a command
/// line's words from standard input. Hidden from the help. `line` must have all other commands and outlive this one.
void add_completion_command(CommandLine& line);
/// `help [COMMAND…]`: same as `headroom COMMAND --help`. Hidden likewise.
void add_help_command(CommandLine& line);
/// `man [COMMAND]`: a manual page of the program or a command, as roff; `man --to FOLDER` writes all. Hidden likewise.
void add_man_command(CommandLine& line);

}  // namespace headroom::experiments
