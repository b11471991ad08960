# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What is done on the machine with KVM. Each step leaves what it printed, what it complained of and its status
# in the folder that the test reads. The environment names the dyntick under test.

step() {
  step=$1
  shift
  "$@" >"/mnt/$step.out" 2>"/mnt/$step.err" </dev/null
  echo $? >"/mnt/$step.status"
}

guests() {
  grep -l qemu-system /proc/[0-9]*/comm 2>/dev/null
}

# Takes its CPU now and then. All the time would have a guest take minutes to boot.
hog() {
  while sleep 0.1; do
    i=0
    while [ "$i" -lt 500 ]; do i=$((i + 1)); done
  done
}

work=$(mktemp -d)
cd "$work" || exit

step doctor "$DYNTICK" lab doctor --fetch --json
step ticking "$DYNTICK" lab run /mnt/ticking.toml --json --out ticking
step report "$DYNTICK" lab report /mnt/ticking.toml --out ticking
step quiet "$DYNTICK" lab run /mnt/quiet.toml --json --out quiet
step compare "$DYNTICK" compare ticking quiet --metric ticks_per_s --json
cp -r ticking quiet /mnt

"$DYNTICK" lab run /mnt/killed.toml --out killed >/mnt/killed.out 2>/mnt/killed.err </dev/null &
killed=$!
# Before it makes a folder for the run it has asked QEMU for its version.
until { [ -n "$(ls -A killed/runs 2>/dev/null)" ] && [ -n "$(guests)" ]; } || ! kill -0 "$killed"; do sleep 0.2; done
sleep 3
guests >/mnt/guests-before
kill -9 "$killed"
wait "$killed"
echo $? >/mnt/killed.status
sleep 3
guests >/mnt/guests-after
ls -A killed/runs >/mnt/left-before
step again "$DYNTICK" lab run /mnt/killed.toml --json --out killed
ls -A killed/runs >/mnt/left-after

hogs=
for cpu in $(seq 0 $(($(nproc) - 1))); do
  hog &
  taskset -pc "$cpu" $! >/dev/null
  hogs="$hogs $!"
done
step busy "$DYNTICK" lab run /mnt/busy.toml --json --out busy
# Each is a word of its own.
# shellcheck disable=SC2086
kill $hogs
cp -r busy /mnt
