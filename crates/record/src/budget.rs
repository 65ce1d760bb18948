//! The budgets to suggest if the specified budget was too short.

/// Budgets that users typically specify, in seconds.
const BUDGETS: [f64; 15] = [
    30.0, 60.0, 120.0, 180.0, 300.0, 600.0, 900.0, 1200.0, 1800.0, 2700.0, 3600.0, 7200.0, 14400.0,
    28800.0, 43200.0,
];

/// Minimum ratio of a suggested budget to the budget that was too short.
const LONGER: f64 = 1.2;

/// The budget to suggest, in seconds, if at least `seconds` are needed and `budget_s` was too short. Beyond the
/// longest typical budget, it is a whole number of hours.
pub fn longer_budget(seconds: f64, budget_s: f64) -> f64 {
    let endless = BUDGETS[BUDGETS.len() - 1];
    let seconds = if seconds.is_finite() { seconds } else { endless };
    let least = seconds.max(budget_s * LONGER);
    let long = (least / 3600.0).ceil() * 3600.0;
    BUDGETS.into_iter().find(|budget| *budget >= least).unwrap_or(long)
}

/// A budget in the form of the option `--budget`.
pub fn budget_option(budget_s: f64) -> String {
    let s = budget_s.round() as u64;
    match s {
        _ if s.is_multiple_of(3600) => format!("--budget {}h", s / 3600),
        _ if s.is_multiple_of(60) => format!("--budget {}m", s / 60),
        _ => format!("--budget {s}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_to_advise_are_round_and_larger() {
        let of = |seconds, budget| budget_option(longer_budget(seconds, budget));
        assert_eq!(of(10.0, 20.0), "--budget 30s");
        assert_eq!(of(10.0, 30.0), "--budget 1m");
        assert_eq!(of(60.0, 30.0), "--budget 1m");
        assert_eq!(of(400.0, 120.0), "--budget 10m");
        assert_eq!(of(20_000.0, 30.0), "--budget 8h");
        assert_eq!(of(100_000.0, 30.0), "--budget 28h");
        assert_eq!(of(f64::INFINITY, 30.0), "--budget 12h");
    }
}
