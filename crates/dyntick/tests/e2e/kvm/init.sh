# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# PID 1 of the machine with KVM, run by busybox, whose path stands for BUSYBOX: loads what it needs, takes the files of
# the machine under it as its own, with memory over them that is written into, and ends when the work is done.

BUSYBOX mkdir -p /bin /files /over /root
BUSYBOX --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
for module in /modules/*; do
  insmod "$module" || echo "$module cannot be loaded"
done
options=trans=virtio,version=9p2000.L,msize=1048576
mount -t 9p -o "$options,cache=loose,ro" machine /files
mount -t tmpfs tmpfs /over
mkdir /over/upper /over/work
mount -t overlay -o lowerdir=/files,upperdir=/over/upper,workdir=/over/work overlay /root
mount -t 9p -o "$options" shared /root/mnt
for folder in proc sys dev; do
  mount --move "/$folder" "/root/$folder"
done
# The work goes before the kernel's own threads, which take a guest's CPU for longer where the machine under this one is busy.
# The shell that is started expands it.
# shellcheck disable=SC2016
exec switch_root /root /bin/sh -c '
  export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
  chmod 666 /dev/kvm
  . /mnt/environment
  nice -n -19 setpriv --reuid="$TEST_UID" --regid="$TEST_GID" --clear-groups sh /mnt/work.sh
  echo o >/proc/sysrq-trigger
  while :; do read -r _; done'
