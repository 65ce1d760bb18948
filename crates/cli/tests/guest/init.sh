#!/bin/bash
# The first process of the guest: mounts what programs expect, runs the script, powers off.
# `work` is the directory shared with the host; the kernel's command line contains it.
[ $$ = 1 ] || exit 1
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/run TMPDIR=/run DM_DISABLE_UDEV=1 LC_ALL=C
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
# Everything else on the host is read-only; files in /tmp are lost with the guest.
mount -t tmpfs tmp /tmp
mkdir -p "$work"
mount -t hostfs work "$work" -o "$work"
ln -s /proc/self/fd /dev/fd
cd "$work" || echo "the work directory cannot be reached"
# The kernel loads modules from the work directory, not from the host's /lib/modules.
echo "$work/modprobe" >/proc/sys/kernel/modprobe
# cbc must be loaded before dm-crypt.
./modprobe -a cbc ecb
./modprobe -a dm-crypt loop fuse algif_skcipher
# With -E the trap also applies in functions.
if bash -euE -o pipefail -c 'trap "echo \"failed: \${name:-}: \$BASH_COMMAND\"" ERR; source ./script'; then
    echo pass >PASS
fi
sync
echo o >/proc/sysrq-trigger
sleep 60
