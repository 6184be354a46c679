#!/usr/bin/env bash
# slurm.sh PROGRAM: `headroom submit` under a Slurm of its own, on this machine: an array of four workers on two nodes.
# In the middle of their trials one node dies, with the two workers that it has, and a third is warned as before a time
# limit; all go back to the queue. What is left on the shared folder, and the report, equal those of one run.
# Needs slurmctld, slurmd, sbatch and munged (Debian: slurm-wlm, munge), no running Slurm, and on most systems no root;
# exits with 77 where they are not installed. About five minutes, most of them of Slurm's waiting.
set -euo pipefail
program=$(realpath "$1")
here=$(dirname -- "$(readlink -f -- "$0")")
for tool in slurmctld slurmd sbatch munged; do
  PATH=$PATH:/usr/sbin command -v "$tool" >/dev/null || { echo "$tool: not installed"; exit 77; }
done
PATH=$PATH:/usr/sbin
dir=$(mktemp -d "${TMPDIR:-/tmp}/headroom-slurm-XXXXXX")
pids=()
finish() {
  local status=$?
  # Jobs outlive their daemons.
  if squeue -h -o %A 2>/dev/null | xargs -r scancel 2>/dev/null; then sleep $((status == 0 ? 0 : 7)); fi
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
SlurmdTimeout=10
NodeName=node1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((base + 1)) CPUs=2
NodeName=node2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((base + 2)) CPUs=2
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
node2=$!
for _ in $(seq 100); do [ "$(sinfo -h -t idle -o %D 2>/dev/null)" = 2 ] && break; sleep 0.2; done
[ "$(sinfo -h -t idle -o %D)" = 2 ] || { sinfo; tail "$dir"/*.log "$dir"/*.out; exit 1; }

cp "$here/study.toml" "$dir"
cd "$dir"
run=queued/queued/own
"$program" run study.toml --quiet --threads 1 --out whole >whole.out
"$program" submit study.toml --workers 4 --out queued
for _ in $(seq 600); do [ "$(ls "$run"/checkpoints/*.safetensors 2>/dev/null | wc -l)" = 4 ] && break; sleep 0.1; done
"$program" status --out queued | tee status.log
grep -q 'workers: 4 on ' status.log || { echo "status counted no four workers"; exit 1; }

warned=$(squeue -h -r -w node1 -o %A | head -1)
jobs=$(squeue -h -r -w node2 -o %A)
kill -9 "$node2"
for job in $jobs; do
  step=$(pgrep -n -f "^slurmstepd: \[$job[.]batch\]")
  scripts=$(pgrep -P "$step")
  kill -9 "$step"
  for script in $scripts; do kill -9 -- "-$script"; done
done
scancel --signal=USR1 --batch "$warned"
echo "killed: node2 with jobs" $jobs "· warned: job $warned"
began=$SECONDS
until [ -z "$(squeue -h)" ] || [ $((SECONDS - began)) -gt 500 ]; do
  sleep 3
  scontrol show job >>jobs.log
  squeue -h -r -o '%i %T %r' >>queue.log
done
[ -z "$(squeue -h)" ] || { squeue; exit 1; }
for job in $jobs $warned; do
  [ -n "$(sed -n "/JobId=$job /,/^$/p" jobs.log | grep 'Restarts=[1-9]')" ] || { echo "job $job stayed"; exit 1; }
done
source "$here/as_one_run.sh"
cmp {whole,queued}/queued/own/verdicts.json
[ ! -e "$run/checkpoints" ] || { echo "checkpoints are left"; exit 1; }
grep -q '^report  ' "$run"/slurm/report-*.log
"$program" doctor queued
echo "four workers, $(ls "$run"/shards/*.jsonl | wc -l) shards, $(cat "$run"/shards/*.jsonl | wc -l) lines: as one run"
