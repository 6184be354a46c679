#!/usr/bin/env bash
# hosts.sh PROGRAM: a sweep of 36 trials by two hosts, which have names, networks and processes of their own (namespaces of
# this machine) and mount one folder over the network (sshfs: FUSE over SFTP), two rival workers each. In the middle the
# first host's link is down for ten seconds, and the second host dies with all its processes; later it is started again.
# Every trial is then in the report once, with the metrics and weights of one run on a local folder.
# Needs root, ip (iproute2), unshare, sshfs, socat and OpenSSH's sftp-server (Debian: iproute2 sshfs socat
# openssh-sftp-server); exits with 77 where they are missing. Some minutes, one of them the age of a dead claim.
set -euo pipefail
program=$(realpath "$1")
here=$(dirname -- "$(readlink -f -- "$0")")
sftp=/usr/lib/openssh/sftp-server
for tool in ip unshare sshfs socat "$sftp"; do
  command -v "$tool" >/dev/null || { echo "$tool: not installed"; exit 77; }
done
[ "$(id -u)" = 0 ] && [ -e /dev/fuse ] && unshare -u -n -p --fork true || { echo "no namespaces or no FUSE"; exit 77; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/headroom-hosts-XXXXXX")
tag=h$$
finish() {
  local status=$?
  trap - EXIT
  jobs -p | xargs -r kill -9 2>/dev/null || true
  for host in a b; do ip netns pids "$tag$host" 2>/dev/null | xargs -r kill -9 2>/dev/null || true; done
  for host in a b; do ip netns del "$tag$host" 2>/dev/null || true; done
  wait 2>/dev/null || true
  if [ "$status" -eq 0 ]; then rm -rf "$dir"; else echo "FAILED: $dir is kept"; fi
  exit "$status"
}
trap finish EXIT

sed -e 's/^steps = .*/steps = 10000/' -e 's/^eval_every = .*/eval_every = 5000/' -e 's/^"model.heads" = .*/"model.heads" = [1, 2, 4]/' \
  -e "s/^seed = .*/seed = [$(seq -s ', ' 12)]/" "$here/study.toml" >"$dir/study.toml"

mkdir "$dir/served" "$dir/a" "$dir/b"
port=$((20000 + RANDOM % 20000))
subnet=10.$((RANDOM % 200 + 20)).$((RANDOM % 200))
number=0
for host in a b; do
  ip netns add "$tag$host"
  ip link add "$tag$host" type veth peer name eth0 netns "$tag$host"
  ip addr add "$subnet.$((number + 1))/30" dev "$tag$host"
  ip link set "$tag$host" up
  ip -n "$tag$host" addr add "$subnet.$((number + 2))/30" dev eth0
  ip -n "$tag$host" link set eth0 up
  number=$((number + 4))
done
socat "TCP-LISTEN:$port,reuseaddr,fork" "EXEC:$sftp" 2>"$dir/server.log" &

# host NAME ADDRESS OF THE SERVER: a host with two workers, until they end.
host() {
  exec ip netns exec "$tag$1" unshare -u -p -m --fork --kill-child --mount-proc bash -c '
    set -e
    hostname "host-$1"
    sshfs -o "directport=$3,cache=no,dir_cache=no" "$2:$4/served" "$4/$1"
    cd "$4"
    for worker in 1 2; do
      "$5" run study.toml --shared --quiet --threads 1 --jobs 1 --out "$1/runs" >"$1-$worker-$$.out" 2>&1 &
      workers="$workers $!"
    done
    for worker in $workers; do wait "$worker"; done
    fusermount3 -u "$4/$1"' host "$1" "$2" "$port" "$dir" "$program"
}
finished() { cat "$dir"/served/runs/queued/own/shards/*.jsonl 2>/dev/null | wc -l; }
reach() { # COUNT: waits until so many trials are there
  local began=$SECONDS
  until [ "$(finished)" -ge "$1" ]; do
    [ $((SECONDS - began)) -lt 300 ] || { echo "$(finished) trials after 300 s"; cat "$dir"/*.out; exit 1; }
    sleep 0.2
  done
}

(cd "$dir" && "$program" run study.toml --quiet --threads 1 --out whole >whole.out)
host a "$subnet.1" &
first=$!
host b "$subnet.5" &
second=$!
reach 8
ip link set "${tag}a" down
sleep 10
ip link set "${tag}a" up
reach 16
kill -9 "$second"
ip netns pids "${tag}b" | xargs -r kill -9 2>/dev/null || true
wait "$second" 2>/dev/null || true
echo "killed host-b at $(finished) of 36 trials, with $(ls "$dir/served/runs/queued/own/claims" | wc -l) claims"
umount -l "$dir/b" 2>/dev/null || true
reach 24
host b "$subnet.5" &
second=$!
wait "$first" || { cat "$dir"/a-*.out; exit 1; }
wait "$second" || { cat "$dir"/b-*.out; exit 1; }

cd "$dir"
mv served/runs queued
source "$here/as_one_run.sh"
[ "$(wc -l <queued.sums)" = 36 ] || { echo "$(wc -l <queued.sums) files of weights"; exit 1; }
"$program" status --out queued | tee status
[ "$(wc -l <status)" = 1 ] || { echo "more than the count of trials: a claim of a trial that is there"; exit 1; }
"$program" doctor queued
cat queued/queued/own/shards/*.jsonl >lines
echo "two hosts, $(ls queued/queued/own/shards/*.jsonl | wc -l) shards, $(wc -l <lines) lines of $(wc -l <queued.sums) trials: as one run"
