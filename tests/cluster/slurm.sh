#!/usr/bin/env bash
# slurm.sh PROGRAM: `headroom submit` under a Slurm of its own, on this machine: two nodes, a time limit that interrupts a
# trial, and a job that goes back to the queue. What two workers leave on the shared folder equals what one run leaves.
# Needs slurmctld, slurmd, sbatch and munged (Debian: slurm-wlm, munge), no root and no running Slurm; exits with 77
# where they are not installed. Four minutes, most of which Slurm waits before it starts a job again.
set -euo pipefail
program=$(realpath "$1")
for tool in slurmctld slurmd sbatch munged; do
  PATH=$PATH:/usr/sbin command -v "$tool" >/dev/null || { echo "$tool: not installed"; exit 77; }
done
PATH=$PATH:/usr/sbin
dir=$(mktemp -d "${TMPDIR:-/tmp}/headroom-slurm-XXXXXX")
pids=()
finish() {
  local status=$?
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  if [ "$status" -eq 0 ]; then rm -rf "$dir"; else echo "FAILED: $dir is kept"; fi
  exit "$status"
}
trap finish EXIT

mkdir -p "$dir"/{munge,state,spool}
chmod 711 "$dir" "$dir/munge"
head -c 1024 /dev/urandom >"$dir/munge/key"
chmod 600 "$dir/munge/key"
munged --foreground --force --key-file="$dir/munge/key" --socket="$dir/munge/socket" --pid-file="$dir/munge/pid" \
  --log-file="$dir/munge/log" --seed-file="$dir/munge/seed" >"$dir/munge/out" 2>&1 &
pids+=($!)
host=$(hostname -s)
base=$((20000 + RANDOM % 20000))
cat >"$dir/slurm.conf" <<END
ClusterName=headroom
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$base
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket
CredType=cred/munge
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/%n.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
KillWait=5
NodeName=node1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((base + 1)) CPUs=1
NodeName=node2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((base + 2)) CPUs=1
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF=$dir/slurm.conf
for _ in $(seq 50); do [ -S "$dir/munge/socket" ] && break; sleep 0.1; done
slurmctld -D >"$dir/slurmctld.out" 2>&1 &
pids+=($!)
for node in node1 node2; do
  slurmd -D -N "$node" >"$dir/$node.out" 2>&1 &
  pids+=($!)
done
for _ in $(seq 100); do [ "$(sinfo -h -t idle -o %D 2>/dev/null)" = 2 ] && break; sleep 0.2; done
[ "$(sinfo -h -t idle -o %D)" = 2 ] || { sinfo; tail "$dir"/*.log "$dir"/*.out; exit 1; }

cat >"$dir/study.toml" <<'END'
[study]
id = "queued"
title = "Queued"
[task]
kind = "linear-functional"
kernel = { kind = "n-gram", n = 2 }
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
ffn_width = 16
[train]
steps = 350000
batch = 4
eval_every = 50000
save_every = 600
keep_weights = true
optimizer = { kind = "adamw", lr = 1e-3, beta2 = 0.99 }
[sweep]
"model.heads" = [1, 2]
seed = [1]
[report]
x = { key = "model.heads", scale = "log2" }
y = { metric = "relative_mse", scale = "log10" }
END
cd "$dir"
"$program" run study.toml --quiet --threads 1 --out whole >whole.out
"$program" submit study.toml --workers 2 --out queued -- --time=1 --signal=B:USR1@40
began=$SECONDS
until [ -z "$(squeue -h)" ] || [ $((SECONDS - began)) -gt 400 ]; do
  sleep 3
  squeue -h -o '%i %T %r' >>queue.log
  "$program" status --out queued >>status.log
done
[ -z "$(squeue -h)" ] || { squeue; exit 1; }
cat queued/queued/own/slurm/*.log >logs
for out in whole queued; do
  "$program" export csv queued --metrics-only --out "$out" >"$out.csv"
  (cd "$out/queued/own/weights" && sha256sum ./*) >"$out.sums"
done
cmp whole.csv queued.csv
cmp whole.sums queued.sums
grep -q 'workers: .* on ' status.log || { echo "status counted no workers"; exit 1; }
grep -q '_[12] PENDING' queue.log || { echo "no worker went back to the queue"; cat queue.log; exit 1; }
[ ! -e queued/queued/own/checkpoints ] || { echo "checkpoints are left"; exit 1; }
ls queued/queued/own/slurm/report-*.log >/dev/null
grep -q '^report  ' queued/queued/own/slurm/report-*.log
"$program" doctor queued
echo "$(sort -u queue.log | wc -l) states, $(ls queued/queued/own/shards/*.jsonl | wc -l) shards: as one run"
