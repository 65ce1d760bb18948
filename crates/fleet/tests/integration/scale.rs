//! Many records: what is kept of each is little.

use crate::made::{FAST, Kind, Normal, leave, record};
use crate::report::report;

#[test]
fn hundreds_of_records_are_pooled_and_the_odd_one_is_found_among_them() {
    let dir = tempfile::tempdir().unwrap();
    let mut normal = Normal::new(11);
    for i in 0..300 {
        leave(dir.path(), &record(&mut normal, &format!("node{i:03}"), &FAST, (4, 0.02)));
    }
    let odd = Kind { cost: [-0.10, -0.9], ..FAST };
    leave(dir.path(), &record(&mut normal, "odd", &odd, (4, 0.02)));
    let found = report(dir.path(), &[]);
    assert_eq!(found.groups[0].machines, 301);
    let names: Vec<&str> = found.outliers.iter().map(|o| o.node.as_str()).collect();
    assert_eq!(names, ["odd"]);
    assert_eq!(found.outliers[0].workload, "seq-read-1m-q1");
    let share = found.groups[0].rows[0].pooled.unwrap();
    let width = (share.next_high_ratio / share.next_low_ratio).ln();
    // Twice 1.96 standard deviations between machines.
    assert!((width / (2.0 * 1.96 * FAST.between) - 1.0).abs() < 0.2, "{width}");
}
