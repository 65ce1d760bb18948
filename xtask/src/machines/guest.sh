# Runs the commands of a user on a newly installed machine. Lines for `cargo xtask machines` start with a byte that no program
# prints. The same directory contains the program and `steps`, which lists the steps to run one after another.
job=$PWD
install cryptbench /usr/local/bin/cryptbench
export HOME=/root LANG=C.UTF-8
# Users must be able to access the directories below.
umask 022

tell() { printf '\036%s\n' "$*"; }
seconds() { cut -d' ' -f1 /proc/uptime; }

place=/srv/place
if [ -b /dev/disk/by-label/place ]; then
    place=/srv/disk
    mkdir -p $place
    mount /dev/disk/by-label/place $place
fi
mkdir -p $place/ada
chown ada: $place/ada

# Everything that may be left behind, one item per line.
state() {
    # Ignores mounts that the system itself creates while it continues to boot.
    cut -d' ' -f1-3 /proc/mounts | grep -v ' /run/credentials/' | sed 's/^/mount: /'
    losetup --noheadings --list --output NAME,BACK-FILE | sed 's/^/loop device: /'
    dmsetup ls 2>/dev/null | grep -v '^No devices' | sed 's/^/mapping: /'
    # The empty directories for mounts are kept for the next run: /run/cryptbench, and a user's in /tmp.
    ls -d $place/* $place/ada/* /srv/in-use/* /tmp/* /var/tmp/* /run/cryptbench/* /tmp/cryptbench-*/run/* /dev/shm/* 2>/dev/null |
        grep -v -e systemd-private -e '^/tmp/cryptbench-[0-9]*$' | sed 's/^/file: /'
    # Records are kept, and the directories of records and journals.
    find /root /home/ada /var/lib/cryptbench -path '*/.local/share/cryptbench' -prune -o ! -type d -print -o \
        -type d ! -path '*/.local*' ! -path '/var/lib/cryptbench*' -print 2>/dev/null | sed 's/^/file: /'
    pgrep --full --list-full 'cryptbench|gocryptfs|cryfs|encfs|securefs|qemu' | cut -d' ' -f2- | sed 's/^/process: /'
}

# A step that hangs must not prevent the next one from running.
limited() { timeout --kill-after=30 600 "$@"; }
as_root() { cd $place; limited sh -c "$1"; }
as_user() { cd $place/ada; limited setpriv --reuid=ada --regid=ada --init-groups env HOME=/home/ada USER=ada sh -c "$1"; }

# The system and the verdict of each cell that is not plain storage.
cells() {
    # Labels may contain commas.
    awk -F, '{ gsub(/"[^"]*"/, "quoted") }
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["role"] == "encrypted" { print $at["system"], $at["verdict"] }'
}

# The last run's record in this format.
record() { ($1 "cryptbench report last --format $2" 2>/dev/null); }

# step NAME WHO COMMAND: runs COMMAND and reports its output, its duration and budget, and what it left behind.
step() {
    tell "step $1"
    rm -rf /root/.local/share/cryptbench /home/ada/.local/share/cryptbench
    state | sort >$job/before
    dmesg | wc -l >$job/heard
    began=$(seconds)
    ($2 "$3") >$job/out 2>$job/err </dev/null
    code=$?
    ended=$(seconds)
    case $1 in
    root | user | existing | server | all)
        budget=$(record $2 json | grep -o '"budget_s": *[0-9.]*' | head -n 1 | tr -dc '0-9.')
        record $2 'csv --table cells' | cells >$job/cells
        ;;
    *)
        budget=
        : >$job/cells
        ;;
    esac
    tell "ended $code $began $ended $budget"
    cat $job/out
    tell err
    cat $job/err
    tell cells
    cat $job/cells
    tell left
    sleep 1
    state | sort | comm -13 $job/before -
    tell kernel
    dmesg | tail -n +$(($(cat $job/heard) + 1)) >$job/said
    dmesg --level=emerg,alert,crit,err,warn | grep -Fxf - $job/said
    tell end
}

doctor() { step doctor as_root 'cryptbench doctor'; }
root() { step root as_root 'cryptbench run'; }
user() { step user as_user 'cryptbench run'; }
all() { step all as_root 'cryptbench run --systems all --budget 4m'; }

# The typical load of a server's disks, with one thread per CPU, and with dm-crypt's queues enabled and disabled.
server() {
    step server as_root 'cryptbench run --profile server --systems dm-crypt --sweep workqueues --size 128MiB --budget 5m'
}

# Existing encryption: an open LUKS2 volume with a file system.
existing() {
    spare=/dev/disk/by-id/virtio-spare
    printf secret >$job/key
    cryptsetup luksFormat --batch-mode --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 $spare $job/key
    cryptsetup open --key-file $job/key $spare in-use
    mkfs.ext4 -q /dev/mapper/in-use
    mkdir -p /srv/in-use
    mount /dev/mapper/in-use /srv/in-use
    head -c 300M /dev/urandom >/srv/in-use/data
    sync
    step existing as_root 'cryptbench run --existing --budget 90s'
    umount /srv/in-use
    cryptsetup close in-use
}

# Our own volume: mounted, written to, unmounted, mounted again, read and unmounted.
volume() {
    step volume as_root 'set -e
        printf secret >key
        head -c 5M /dev/urandom >data
        mkdir at
        cryptbench volume create --format luks2 --size 64M --mkfs ext4 --passphrase-file key --unlock-time 200ms volume
        cryptbench volume mount --passphrase-file key volume at
        cp data at/
        cryptbench volume umount at
        cryptbench volume mount --passphrase-file key volume at
        cmp data at/data
        cryptbench volume umount at
        rm key volume data
        rmdir at'
}

# Kills a run while it sets up and while it measures, and then removes what is left.
killed() {
    step killed as_root 'for seconds in 3 12 30; do
            timeout --signal=KILL $seconds cryptbench run >/dev/null 2>&1
            # A run that exited by itself was not killed.
            [ $? -eq 137 ] || exit 1
            cryptbench cleanup || exit
        done'
}

tell "program $(cryptbench --version)"
. $job/steps
tell "done"
