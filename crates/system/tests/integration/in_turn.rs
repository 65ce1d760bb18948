//! Files that are compared have an equal share of every region of the disk.

use std::process::Command;

use cryptbench_system::resource::{Journal, Reserve, Scratch, allocate_in_turn};

use crate::place::Place;

const LEN: u64 = 64 << 20;

/// The offsets of a file's extents on the device, in the order of the file; `None` if the file system does not
/// report them.
fn extents(path: &std::path::Path) -> Option<Vec<u64>> {
    let said = Command::new("filefrag").arg("-v").arg(path).output().ok()?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    // `   0:        0..    2047:      34816..     36863:   2048: ...`
    let starts: Vec<u64> = said
        .lines()
        .filter_map(|line| line.split(':').nth(2)?.split("..").next()?.trim().parse().ok())
        .collect();
    (!starts.is_empty()).then_some(starts)
}

/// How often the owner changes if the extents of all `files` are visited in the order of their offsets on the
/// device.
fn changes(files: &[Vec<u64>]) -> usize {
    let of = |(owner, starts): (usize, &Vec<u64>)| {
        starts.iter().map(|start| (*start, owner)).collect::<Vec<_>>()
    };
    let mut all: Vec<(u64, usize)> = files.iter().enumerate().flat_map(of).collect();
    all.sort_unstable();
    all.windows(2).filter(|two| two[0].1 != two[1].1).count()
}

#[test]
fn files_take_their_blocks_in_turn() {
    let place = Place::new();
    let journal = Journal::create(&format!("test-{}-in-turn", std::process::id())).unwrap();
    let path = |name: &str| place.path().join(name);
    let apart = [path("a"), path("b")].map(|at| Scratch::create(&at, LEN, &journal).unwrap());
    let reserve = Reserve::default();
    let one = Scratch::create_empty(&path("c"), LEN, None, &journal).unwrap();
    let two = Scratch::create_empty(&path("d"), LEN, Some(&one), &journal).unwrap();
    reserve.add(path("e"), 2 * LEN, &one, &journal).unwrap();
    allocate_in_turn(&[&one, &two], &reserve).unwrap();
    assert!(reserve.holds(&path("e")));
    for (name, len) in [("c", LEN), ("d", LEN), ("e", 2 * LEN)] {
        assert_eq!(std::fs::metadata(path(name)).unwrap().len(), len, "{name}");
    }
    let found: Option<Vec<_>> =
        ["a", "b", "c", "d", "e"].iter().map(|n| extents(&path(n))).collect();
    match found {
        Some(found) => {
            let (apart, in_turn) = found.split_at(2);
            assert!(changes(in_turn) >= 12, "{in_turn:?}");
            assert!(changes(apart) < changes(in_turn), "{apart:?}");
        }
        None => eprintln!(
            "SKIPPED: filefrag does not report where files lie here (apt install e2fsprogs)"
        ),
    }
    drop((apart, one, two, reserve));
    let left = std::fs::read_dir(place.path()).unwrap().count();
    assert_eq!(left, 0, "what nobody took is removed");
}
