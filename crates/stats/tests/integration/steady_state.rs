//! The steady-state criterion at its bounds, on simulated drives, and its symmetries.

use cryptbench_stats::steady_state::{EXCURSION, SLOPE, SteadyState, WINDOW, Window, steady_state};
use proptest::prelude::*;

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + b.abs())
}

#[test]
fn figures_of_a_window_worked_by_hand() {
    // Mean 100. Line: sum of x (y - mean) = -2*-8 - 1*2 + 0*-2 + 1*6 + 2*2 = 24 over sum of x^2 = 10 is
    // 2.4 per round, 9.6 over the four steps of the window.
    let window = Window::of(&[92.0, 102.0, 98.0, 106.0, 102.0]).unwrap();
    assert!(near(window.mean, 100.0) && near(window.excursion, 0.14), "{window:?}");
    assert!(near(window.slope, 0.096), "{window:?}");
    assert!(window.is_steady());
    let falling = Window::of(&[102.0, 106.0, 98.0, 102.0, 92.0]).unwrap();
    assert!(near(falling.slope, -0.096) && falling.is_steady(), "{falling:?}");
}

#[test]
fn each_bound_alone_decides() {
    // Symmetric about the middle: no slope. The mean is 100, the excursion 20 and then 20.02.
    let peak = |low: f64, high: f64| Window::of(&[100.0, low, 100.0, high, 100.0]).unwrap();
    let flat = |d: f64| Window::of(&[100.0 - d, 100.0, 100.0 + 2.0 * d, 100.0, 100.0 - d]).unwrap();
    assert!(flat(6.66).is_steady() && flat(6.66).excursion > 0.199);
    assert!(!flat(6.68).is_steady() && near(flat(6.68).slope, 0.0));
    // A line of 2.4 or 2.6 % per round: 9.6 % and 10.4 % over the window, with an equal excursion.
    let line = |per_round: f64| {
        let y: Vec<f64> = (0..5).map(|x| 100.0 + per_round * (f64::from(x) - 2.0)).collect();
        Window::of(&y).unwrap()
    };
    assert!(line(2.4).is_steady() && line(-2.4).is_steady());
    assert!(!line(2.6).is_steady() && !line(-2.6).is_steady());
    assert!(line(2.6).excursion < EXCURSION);
    // Exactly at a bound, with numbers that binary floating point represents exactly.
    let exact = Window { mean: 1.0, excursion: EXCURSION, slope: -SLOPE };
    assert!(exact.is_steady());
    assert!(!peak(89.0, 111.0).is_steady());
}

#[test]
fn a_drive_that_settles_is_steady_after_it_settled() {
    // A new drive with 90 k IOPS; in each round it loses 40 % of the distance to 20 k.
    let rounds: Vec<f64> = (0..25).map(|r| 20e3 + 70e3 * 0.6f64.powi(r)).collect();
    let SteadyState { rounds: n, window } = steady_state(&rounds).unwrap();
    let steady = |end: usize| {
        let y = &rounds[end - WINDOW..end];
        let mean = y.iter().sum::<f64>() / 5.0;
        let slope = (2.0 * (y[4] - y[0]) + y[3] - y[1]) / 10.0 * 4.0;
        y[0] - y[4] <= 0.2 * mean && slope.abs() <= 0.1 * mean
    };
    assert!(steady(n) && !(WINDOW..n).any(steady), "{n}");
    assert!(n > 8 && window.slope < 0.0, "{n} {window:?}");
    assert_eq!(steady_state(&rounds[..n]), steady_state(&rounds));
    assert_eq!(steady_state(&rounds[..n - 1]), None);
}

#[test]
fn what_is_no_measurement_is_not_steady() {
    assert_eq!(steady_state(&[]), None);
    assert_eq!(steady_state(&[100.0; 4]), None);
    assert_eq!(steady_state(&[0.0; 9]), None);
    assert_eq!(steady_state(&[-100.0; 9]), None);
    assert_eq!(steady_state(&[100.0, 100.0, f64::NAN, 100.0, 100.0, 100.0]), None);
    assert_eq!(Window::of(&[100.0]), None);
    assert_eq!(Window::of(&[1.0, f64::INFINITY]), None);
    assert!(steady_state(&[f64::MAX; 5]).is_some());
    // A failed round does not matter once it is outside the window.
    let mut rounds = vec![f64::NAN];
    rounds.extend([100.0; 5]);
    assert_eq!(steady_state(&rounds).unwrap().rounds, 6);
}

proptest! {
    /// Small noise about a constant level is steady immediately, in any unit.
    #[test]
    fn quiet_rounds_are_steady_in_any_unit(
        noise in prop::collection::vec(-0.04f64..0.04, WINDOW..30), unit in 1e-9f64..1e12,
    ) {
        let rounds: Vec<f64> = noise.iter().map(|n| unit * (1.0 + n)).collect();
        let found = steady_state(&rounds).unwrap();
        prop_assert_eq!(found.rounds, WINDOW);
        let plain: Vec<f64> = noise.iter().map(|n| 1.0 + n).collect();
        let other = steady_state(&plain).unwrap().window;
        prop_assert!(near(found.window.excursion, other.excursion));
        prop_assert!(near(found.window.slope, other.slope));
    }

    /// The window that is found meets the criterion in the specification's words, and no earlier window does.
    #[test]
    fn the_first_window_is_found(rounds in prop::collection::vec(50.0f64..150.0, 0..25)) {
        let worded = |y: &[f64]| {
            let mean = y.iter().sum::<f64>() / 5.0;
            let (low, high) = y.iter().fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(*v), h.max(*v)));
            // The fitted line at its two ends, from the textbook formula.
            let (sx, sxx) = (10.0, 30.0);
            let sy: f64 = y.iter().sum();
            let sxy: f64 = y.iter().enumerate().map(|(x, v)| x as f64 * v).sum();
            let b = (5.0 * sxy - sx * sy) / (5.0 * sxx - sx * sx);
            let a = (sy - b * sx) / 5.0;
            let rise = ((a + 4.0 * b) - a).abs();
            (high - low <= 0.2 * mean, rise <= 0.1 * mean)
        };
        let first = rounds.windows(WINDOW).position(|y| worded(y) == (true, true));
        prop_assert_eq!(steady_state(&rounds).map(|s| s.rounds), first.map(|f| f + WINDOW));
    }

    /// The slope and the excursion of a line are equal to its rise; if it is mirrored, the slope changes its sign.
    #[test]
    fn a_line_has_its_slope(level in 1.0f64..1e6, rise in -0.9f64..0.9) {
        let mut rounds: Vec<f64> =
            (0..WINDOW).map(|x| level * (1.0 + rise * (x as f64 / 4.0 - 0.5))).collect();
        let window = Window::of(&rounds).unwrap();
        prop_assert!(near(window.slope, rise) && near(window.excursion, rise.abs()));
        rounds.reverse();
        prop_assert!(near(Window::of(&rounds).unwrap().slope, -rise));
    }

    /// The slope is limited by the excursion: for five points it is at most 1.2 times as large.
    #[test]
    fn the_excursion_bounds_the_slope(rounds in prop::collection::vec(0.0f64..1e3, WINDOW)) {
        if let Some(window) = Window::of(&rounds) {
            prop_assert!(window.slope.abs() <= 1.2 * window.excursion + 1e-9);
        }
    }
}
