//! Volumes that are damaged, truncated, or cannot be opened by this program.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cryptbench_blockdev::{BlockDevice as _, MemoryDevice};
use cryptbench_volume::VolumeError;
use cryptbench_volume::format::filevault::info;

use super::maker::{
    BLOCK, BLOCKS, ENCRYPTED, FREE, LABELS, Maker, OBJECT, OF_VOLUME, PASSWORD, SEGMENTS_ID,
    Stored, encrypted, object, put, with_checksum,
};
use super::{contents, open_bytes, open_writable, passphrase};

fn refusal(bytes: &[u8]) -> VolumeError {
    open_bytes(bytes, &passphrase(PASSWORD)).unwrap_err()
}

#[test]
fn what_does_not_open_here_says_what_it_is_why_and_with_what_it_opens() {
    let maker = Maker::default();
    let elsewhere = vec![(0, FREE, 16, 0), (16, FREE, 16, 1)];
    let gap = vec![(0, FREE, 16, 0), (20, FREE + 16, 12, 0)];
    for (name, maker, words) in [
        ("two_volumes", Maker { physical_volumes: 2, ..maker.clone() }, ["Fusion", "macOS"]),
        ("segment_elsewhere", Maker { segments: elsewhere, ..maker.clone() }, ["Fusion", "macOS"]),
        (
            "converting",
            Maker { state: "Converting", ..maker.clone() },
            ["encrypted or decrypted", "diskutil"],
        ),
        ("pending", Maker { state: "Pending", ..maker.clone() }, ["Pending", "diskutil"]),
        (
            "not_encrypted",
            Maker { algorithm: "None", users: Vec::new(), ..maker.clone() },
            ["not encrypted", "offset=393216,sizelimit=131072"],
        ),
        ("gap", Maker { segments: gap, ..maker.clone() }, ["65536 of its 131072", "macOS"]),
        ("sectors", Maker { sector: 4096, ..maker.clone() }, ["4096", "macOS"]),
        ("wiped", Maker { stored: Stored::Wiped, ..maker }, ["Recovery HD", "--keyfile"]),
    ] {
        let image = maker.image();
        let refused = refusal(&image);
        assert!(matches!(refused, VolumeError::CannotOpen { .. }), "{name}: {refused}");
        let told = match info(&MemoryDevice::new(image)) {
            Ok(info) => info.obstacle.unwrap_or_else(|| panic!("{name}: no obstacle")),
            Err(error) => error.to_string(),
        };
        for word in words {
            assert!(refused.to_string().contains(word), "{name}: {refused}");
            assert!(told.contains(word), "{name}: {told}");
        }
    }
}

#[test]
fn copies_stand_in_for_what_is_damaged() {
    let whole = Maker::default().image();
    let expected = Maker::default().plaintext();
    let last = whole.len() - 512;
    let damage: [(&str, &[usize]); 4] = [
        ("header", &[100]),
        ("labels", &[LABELS[0] * BLOCK + 70, LABELS[1] * BLOCK, LABELS[3] * BLOCK + 4000]),
        ("encrypted", &[ENCRYPTED[0] * BLOCK + 5 * OBJECT + 9]),
        ("encrypted_first", &[ENCRYPTED[0] * BLOCK + 40]),
    ];
    for (name, places) in damage {
        let mut bytes = whole.clone();
        places.iter().for_each(|at| bytes[*at] ^= 0x20);
        let volume = open_bytes(&bytes, &passphrase(PASSWORD))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(contents(&volume) == expected, "{name}");
        let info = info(&MemoryDevice::new(bytes)).unwrap();
        let told =
            info.copies.iter().chain(&info.encrypted_copies).filter(|(_, why)| why.is_some());
        let told = told.count() + usize::from(info.header_problem.is_some());
        assert_eq!(told, places.len(), "{name}: {info:?}");
    }
    let mut bytes = whole;
    bytes[100] ^= 1;
    bytes[last + 100] ^= 1;
    let refused = refusal(&bytes);
    assert!(matches!(refused, VolumeError::Damaged { .. }), "{refused}");
    assert!(refused.to_string().contains("checksum"), "{refused}");
}

#[test]
fn with_no_whole_copy_nothing_is_written_nor_taken_for_granted() {
    let maker = Maker { base: Some(FREE), segments: vec![(0, 4, 32, 0)], ..Maker::default() };
    // Without the blocks of this kind, in both copies.
    let without = |maker: &Maker, kind: u16| {
        let mut image = maker.image();
        for (number, object) in maker.objects().iter().enumerate() {
            // The latest state is lost, and an older one remains.
            if of_kind(object, kind) && object[16] >= 4 {
                ENCRYPTED.iter().for_each(|at| image[at * BLOCK + number * OBJECT + 99] ^= 1);
            }
        }
        image
    };
    let device = Arc::new(MemoryDevice::new(without(&maker, 0x105)));
    let volume = open_writable(&device, &passphrase(PASSWORD)).unwrap();
    assert!(volume.is_read_only());
    assert!(volume.info().warnings().any(|warning| warning.contains("no copy")));
    assert!(contents(&volume) == maker.plaintext());
    // The offsets are outdated.
    let refused = refusal(&without(&maker, 0x305));
    assert!(matches!(refused, VolumeError::NoKeyFits(_)), "{refused}");
    // The lost object may have been of this kind.
    for (maker, kind) in [(&maker, 0x505), (&Maker::default(), 0x105)] {
        let refused = refusal(&without(maker, kind));
        assert!(refused.to_string().contains("offsets is missing"), "{refused}");
    }
}

#[test]
fn a_copy_that_is_cut_short_is_not_whole() {
    let mut image = Maker::default().image();
    let second = Maker::default().objects().len() - 1;
    image[ENCRYPTED[0] * BLOCK + 40] ^= 1;
    image.truncate(ENCRYPTED[1] * BLOCK + second * OBJECT);
    let told = info(&MemoryDevice::new(image)).unwrap();
    assert!(told.encrypted_copies.iter().all(|(_, why)| why.is_some()), "{told:?}");
}

#[test]
fn an_older_block_does_not_return_when_its_identifier_has_passed_to_another_object() {
    let maker = Maker::default();
    let mut objects = maker.objects();
    let older = *objects.iter().find(|object| of_kind(*object, 0x305)).unwrap();
    for block in [object(0x77, 9, SEGMENTS_ID, objects.len(), &[]), older] {
        objects.push(block);
    }
    let mut image = maker.image();
    for at in ENCRYPTED {
        put(&mut image, at * BLOCK, &encrypted(0, &objects));
    }
    let refused = refusal(&image);
    assert!(refused.to_string().contains("location of the data is missing"), "{refused}");
}

#[test]
fn data_on_metadata_or_on_other_data_are_not_believed() {
    for (name, segments) in [
        ("label", vec![(0, LABELS[0] as u64, 32, 0)]),
        ("header", vec![(0, 0, 1, 0), (1, FREE, 31, 0)]),
        ("last_header", vec![(0, BLOCKS as u64 - 32, 32, 0)]),
        ("encrypted", vec![(0, FREE, 31, 0), (31, ENCRYPTED[1] as u64 + 31, 1, 0)]),
        ("other_data", vec![(0, FREE + 15, 16, 0), (16, FREE, 16, 0)]),
    ] {
        let image = Maker { segments, ..Maker::default() }.image();
        let refused = refusal(&image);
        assert!(
            refused.to_string().contains("overlaps metadata or other data"),
            "{name}: {refused}"
        );
        let told = info(&MemoryDevice::new(image)).unwrap().obstacle;
        assert!(told.is_some_and(|why| why.contains("overlaps metadata")), "{name}");
    }
}

/// The image with changed objects in both copies, and valid checksums.
fn with_objects(maker: &Maker, change: impl Fn(&mut [u8; OBJECT])) -> Vec<u8> {
    let mut image = maker.image();
    let mut objects = maker.objects();
    for object in &mut objects {
        change(object);
        with_checksum(object);
    }
    let bytes = encrypted(0, &objects);
    for at in ENCRYPTED {
        put(&mut image, at * BLOCK, &bytes);
    }
    image
}

fn of_kind(object: &[u8], kind: u16) -> bool {
    object[10..12] == kind.to_le_bytes()
}

/// Changes the header and its copy, and corrects their checksums.
fn with_header(change: impl Fn(&mut [u8])) -> Vec<u8> {
    let mut image = Maker::default().image();
    change(&mut image[..512]);
    with_checksum(&mut image[..512]);
    let last = image.len() - 512;
    image.copy_within(..512, last);
    image
}

#[test]
fn metadata_that_cannot_be() {
    let plain = Maker::default();
    let compressed = Maker { stored: Stored::Compressed, ..Maker::default() };
    let max = u32::MAX.to_le_bytes();
    let objects = |maker: &Maker, kind: u16, at: usize, value: &[u8]| {
        with_objects(maker, |object| {
            if of_kind(object, kind) {
                put(object, at, value);
            }
        })
    };
    let defects = [
        ("block_of_3", with_header(|header| put(header, 96, &3_u32.to_le_bytes()))),
        ("block_of_a_gib", with_header(|header| put(header, 96, &(1_u32 << 30).to_le_bytes()))),
        ("metadata_of_4_gib", with_header(|header| put(header, 100, &max))),
        ("metadata_of_nothing", with_header(|header| put(header, 100, &[0; 4]))),
        ("labels_nowhere", with_header(|header| put(header, 104, &[0; 32]))),
        ("labels_outside", with_header(|header| put(header, 104, &[0xff; 32]))),
        ("segments_without_end", objects(&plain, 0x305, 64, &max)),
        ("segment_beyond_all", objects(&plain, 0x305, 72 + 8, &[0xff; 8])),
        ("size_beyond_all", objects(&plain, 0x1a, 64 + 64, &max)),
        ("names_outside", objects(&plain, 0x19, 64 + 48, &max)),
        ("names_in_the_header", objects(&plain, 0x19, 64 + 48, &[8, 0, 0, 0])),
        ("names_huge", objects(&plain, 0x19, 64 + 40, &max)),
        ("unpacked_huge", objects(&compressed, 0x19, 64 + 44, &max)),
        ("unpacked_too_short", objects(&compressed, 0x19, 64 + 44, &[9, 0, 0, 0])),
        ("next_missing", objects(&compressed, 0x19, 64 + 32, &[77; 8])),
        ("next_is_itself", objects(&compressed, 0x24, 64, &[20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        ("not_compressed", objects(&compressed, 0x19, 944, &[0; 8])),
    ];
    for (name, image) in defects {
        let begin = Instant::now();
        let opened = open_bytes(&image, &passphrase(PASSWORD));
        let refused = opened.expect_err(name);
        assert!(
            matches!(refused, VolumeError::Damaged { .. } | VolumeError::CannotOpen { .. }),
            "{name}: {refused}"
        );
        assert!(begin.elapsed() < Duration::from_secs(5), "{name}");
        let _ = info(&MemoryDevice::new(image));
    }
    let overlapping = Maker { segments: vec![(0, FREE, 20, 0), (10, FREE, 22, 0)], ..plain };
    assert!(refusal(&overlapping.image()).to_string().contains("two segments"));
}

#[test]
fn derivations_that_cost_too_much_are_refused() {
    let mut image = Maker::default().image();
    let objects = Maker { users: vec![(OF_VOLUME, PASSWORD, 3)], ..Maker::default() }.objects();
    // The iterations, within Base64.
    let changed: Vec<_> = objects
        .into_iter()
        .map(|mut object| {
            if of_kind(&object, 0x19) {
                let at = object.windows(5).position(|w| w == b"<data").unwrap();
                let at = at + object[at..].iter().position(|b| *b == b'>').unwrap() + 1;
                // Bytes 168 to 171 are the 56th group of three and the first of the 57th.
                put(&mut object, at + 56 * 4, b"//////8B");
                with_checksum(&mut object);
            }
            object
        })
        .collect();
    for at in ENCRYPTED {
        put(&mut image, at * BLOCK, &encrypted(0, &changed));
    }
    let refused = refusal(&image);
    assert!(matches!(refused, VolumeError::Unsupported { .. }), "{refused}");
    assert!(refused.to_string().contains("limit"), "{refused}");
}

#[test]
fn cut_volumes_open_read_only_as_far_as_they_go() {
    let scattered = vec![(0, FREE + 10, 16, 0), (16, FREE + 30, 16, 0)];
    for (maker, end, left) in [
        (Maker::default(), FREE as usize + 20, 20),
        (Maker { segments: scattered.clone(), ..Maker::default() }, FREE as usize + 40, 26),
        (Maker { segments: scattered, ..Maker::default() }, FREE as usize + 12, 2),
    ] {
        let image = &maker.image()[..end * BLOCK];
        let volume = open_bytes(image, &passphrase(PASSWORD)).unwrap();
        assert_eq!(volume.size(), left * BLOCK as u64);
        assert!(contents(&volume) == maker.plaintext()[..left as usize * BLOCK]);
        assert!(volume.info().warnings().any(|warning| warning.contains("truncated")));
        let device = Arc::new(MemoryDevice::new(image.to_vec()));
        let refused = open_writable(&device, &passphrase(PASSWORD)).unwrap_err();
        assert!(refused.to_string().contains("read-only"), "{refused}");
    }
    let whole = Maker::default().image();
    for blocks in [1, 2, 4, 16, 18, 40, FREE as usize] {
        let refused = refusal(&whole[..blocks * BLOCK]);
        assert!(!matches!(refused, VolumeError::NoKeyFits(_)), "{blocks}: {refused}");
        let _ = info(&MemoryDevice::new(whole[..blocks * BLOCK].to_vec()));
    }
    assert_eq!(whole.len(), BLOCKS * BLOCK);
}
