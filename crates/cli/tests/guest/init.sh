#!/bin/bash
# The first process of the guest: mounts what programs expect, runs the script, powers off.
# `work` comes from the kernel's command line: the directory that the host shares.
[ $$ = 1 ] || exit 1
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/run TMPDIR=/run DM_DISABLE_UDEV=1 LC_ALL=C
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
# Everything else of the host is read-only; what programs write to /tmp goes with the guest.
mount -t tmpfs tmp /tmp
mkdir -p "$work"
mount -t hostfs work "$work" -o "$work"
ln -s /proc/self/fd /dev/fd
cd "$work" || echo "the work directory cannot be reached"
# The kernel finds modules without anything of the host's /lib/modules.
echo "$work/modprobe" >/proc/sys/kernel/modprobe
# dm-crypt needs cbc already there as it loads.
./modprobe -a cbc ecb
./modprobe -a dm-crypt loop fuse algif_skcipher
# With -E the trap holds in functions too.
if bash -euE -o pipefail -c 'trap "echo \"failed: \${name:-}: \$BASH_COMMAND\"" ERR; source ./script'; then
    echo pass >PASS
fi
sync
echo o >/proc/sysrq-trigger
sleep 60
