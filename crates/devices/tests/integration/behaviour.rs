//! What holds of every model, and what tells a disc from flash: simulated, without waiting.

use cryptbench_devices::sweep::{Load, seconds_per_request};
use cryptbench_devices::{Engine, Model, Operation, Request};
use proptest::prelude::*;

const MIB: f64 = 1_048_576.0;

fn all() -> Vec<Model> {
    Model::names().map(|name| Model::named(name).unwrap()).collect()
}

fn load(operation: Operation, random: bool, bytes: u64, queue_depth: u32) -> Load {
    Load { operation, random, bytes, queue_depth, file_bytes: 1 << 30, think_s: 0.0 }
}

fn request(operation: Operation, offset: u64, bytes: u64, arrival_s: f64) -> Request {
    Request { operation, offset, bytes, arrival_s, continues: false }
}

#[test]
fn a_larger_request_takes_no_less_time() {
    for model in all() {
        for operation in [Operation::Read, Operation::Write] {
            for random in [false, true] {
                let mut before = 0.0;
                for shift in 9..=24 {
                    let took = seconds_per_request(&model, &load(operation, random, 1 << shift, 1));
                    // Random places differ between sizes: the mean of their ways does, too.
                    let slack = if random { 0.75 } else { 0.97 };
                    let name = &model.name;
                    assert!(took >= before * slack, "{name} {operation:?} {random} 2^{shift}");
                    before = took;
                }
            }
        }
    }
}

#[test]
fn a_disc_is_far_slower_at_random_places_and_an_ssd_less_so() {
    let ratio = |name: &str, operation| {
        let model = Model::named(name).unwrap();
        let at = |random| seconds_per_request(&model, &load(operation, random, 4096, 1));
        at(true) / at(false)
    };
    for disc in ["hdd-7200", "hdd-laptop", "sshd"] {
        assert!(ratio(disc, Operation::Read) > 30.0, "{disc}");
        assert!(ratio(disc, Operation::Write) > 15.0, "{disc}");
    }
    for flash in ["sata-ssd", "nvme"] {
        assert!(ratio(flash, Operation::Read) < 8.0, "{flash}");
        assert!(ratio(flash, Operation::Write) < 2.0, "{flash}");
    }
    // A stick without a mapping of pages erases for small writes.
    assert!(ratio("usb-flash", Operation::Write) > 4.0);
}

#[test]
fn more_requests_in_flight_are_served_at_a_higher_rate() {
    let gain = |name: &str, from, to| {
        let model = Model::named(name).unwrap();
        let at = |depth| seconds_per_request(&model, &load(Operation::Read, true, 4096, depth));
        at(from) / at(to)
    };
    assert!(gain("nvme", 1, 32) > 10.0);
    assert!(gain("sata-ssd", 1, 32) > 3.0);
    let disc = gain("hdd-7200", 1, 32);
    assert!(disc > 1.5 && disc < 4.0, "{disc}");
    // Beyond the queue nothing is gained.
    let model = Model::named("usb-flash").unwrap();
    let at = |depth| seconds_per_request(&model, &load(Operation::Read, true, 4096, depth));
    assert!((at(8) / at(64) - 1.0).abs() < 0.02);
}

#[test]
fn a_full_cache_slows_writes_down_to_what_is_behind_it() {
    let rate = |model: &Model, bytes: u64, from: u64| {
        let mut engine = Engine::new(model, model.capacity_bytes);
        let (mut now, mut began) = (0.0, 0.0);
        for at in (0..from + bytes).step_by(1 << 20) {
            if at == from {
                began = now;
            }
            now = engine.submit(&request(Operation::Write, at, 1 << 20, now));
        }
        bytes as f64 / MIB / (now - began)
    };
    let disc = Model::named("hdd-7200").unwrap();
    assert!(rate(&disc, 16 << 20, 0) > 350.0, "{}", rate(&disc, 16 << 20, 0));
    assert!(rate(&disc, 64 << 20, 256 << 20) < 215.0);
    let mut ssd = Model::named("sata-ssd").unwrap();
    ssd.flash.as_mut().unwrap().fast_bytes = 64 << 20;
    let (fast, after) = (rate(&ssd, 32 << 20, 16 << 20), rate(&ssd, 64 << 20, 256 << 20));
    assert!((fast / 434.0 - 1.0).abs() < 0.05, "{fast}");
    assert!((after / 300.0 - 1.0).abs() < 0.05, "{after}");
}

#[test]
fn a_fast_region_recovers_while_nothing_is_written() {
    let mut model = Model::named("sata-ssd").unwrap();
    model.flash.as_mut().unwrap().fast_bytes = 64 << 20;
    let mut engine = Engine::new(&model, model.capacity_bytes);
    let write = |engine: &mut Engine, from: f64| {
        let mut now = from;
        for at in 0..64u64 {
            now = engine.submit(&request(Operation::Write, at << 20, 1 << 20, now));
        }
        (now - from, now)
    };
    let (first, end) = write(&mut engine, 0.0);
    let (second, end) = write(&mut engine, end);
    let (after_rest, _) = write(&mut engine, end + 10.0);
    assert!(second > first * 1.2 && after_rest < second / 1.2, "{first} {second} {after_rest}");
}

#[test]
fn a_flush_waits_for_what_was_accepted() {
    for model in all() {
        let mut engine = Engine::new(&model, model.capacity_bytes);
        let mut now = 0.0;
        for i in 0..16u64 {
            now = engine.submit(&request(Operation::Write, i * (7 << 20), 4096, now));
        }
        let flushed = engine.submit(&request(Operation::Flush, 0, 0, now)) - now;
        let again = engine.submit(&request(Operation::Flush, 0, 0, now + flushed)) - now - flushed;
        assert!(flushed >= again - 1e-9, "{}", model.name);
        if model.rotates() {
            // Sixteen ways of a head, or fifteen if it was under way already.
            assert!(flushed > 0.02 && again < 0.001, "{}: {flushed} {again}", model.name);
        }
    }
}

#[test]
fn what_a_hybrid_disc_reads_again_comes_from_its_flash() {
    let model = Model::named("sshd").unwrap();
    let mut engine = Engine::new(&model, model.capacity_bytes);
    let mut now = 0.0;
    let mut round = || {
        let from = now;
        for i in 0..50u64 {
            now = engine.submit(&request(Operation::Read, (i * 37 % 50) << 24, 4096, now));
        }
        (now - from) / 50.0
    };
    let (first, second, third) = (round(), round(), round());
    assert!(first > 0.004 && second > 0.004 && third < 0.0005, "{first} {second} {third}");
}

#[test]
fn the_inner_zone_is_slower() {
    let model = Model::named("hdd-7200").unwrap();
    let rate = |from: u64| {
        let mut engine = Engine::new(&model, model.capacity_bytes);
        let mut now = engine.submit(&request(Operation::Read, from, 1 << 20, 0.0));
        let began = now;
        for i in 1..64u64 {
            now = engine.submit(&request(Operation::Read, from + (i << 20), 1 << 20, now));
        }
        63.0 / (now - began)
    };
    let (outer, inner) = (rate(0), rate(model.capacity_bytes - (100 << 20)));
    assert!((outer / 207.0 - 1.0).abs() < 0.03 && (inner / 95.0 - 1.0).abs() < 0.05);
}

#[test]
fn one_piece_of_a_cut_request_costs_no_command() {
    let model = Model::named("usb-flash").unwrap();
    let time = |continues: bool| {
        let mut engine = Engine::new(&model, model.capacity_bytes);
        let mut done = 0.0;
        for i in 0..4u64 {
            let piece = request(Operation::Write, i * 262_144, 262_144, 0.0);
            done = engine.submit(&Request { continues: continues && i > 0, ..piece });
        }
        done
    };
    assert!(time(false) - time(true) > 0.003);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Any stream of requests: each is done no earlier than it came, nothing moves more than the interface does,
    /// and the same stream takes the same time again.
    #[test]
    fn no_stream_is_faster_than_the_interface(
        stream in prop::collection::vec(
            (0u8..5, 0u64..4096, 0u32..9, 0.0f64..0.002), 1..200),
        which in 0usize..6,
    ) {
        let model = &all()[which];
        let run = || {
            let mut engine = Engine::new(model, model.capacity_bytes);
            let (mut now, mut moved, mut last) = (0.0, [0.0; 2], 0.0f64);
            let mut ends = Vec::new();
            for &(kind, place, shift, gap) in &stream {
                now += gap;
                let operation = match kind {
                    0 | 1 => Operation::Read,
                    2 | 3 => Operation::Write,
                    _ => Operation::Flush,
                };
                let bytes = if kind == 4 { 0 } else { 512u64 << shift };
                let end = engine.submit(&request(operation, place << 18, bytes, now));
                assert!(end.is_finite() && end >= now);
                moved[usize::from(kind > 1)] += bytes as f64;
                last = last.max(end);
                ends.push(end);
            }
            (moved, last, ends)
        };
        let ([read, written], last, ends) = run();
        let i = &model.interface;
        let wire = read / (i.read_mib_s * MIB) + written / (i.write_mib_s * MIB);
        prop_assert!(last >= wire);
        prop_assert_eq!(ends, run().2);
    }
}
