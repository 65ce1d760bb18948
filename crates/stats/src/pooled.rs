//! Pools the cost of many machines of one kind: the mean cost, and the cost to expect on the next machine.
//!
//! Each machine has an effect y (its mean d = ln(E/P)) with a squared standard error v. The random-effects model is y =
//! μ + u + e, where u varies between machines (variance τ²) and e is the measurement error (variance v). τ² is
//! estimated by restricted maximum likelihood (Viechtbauer 2005, *Journal of Educational and Behavioral Statistics*
//! 30:261), or by Paule & Mandel (1982) if that does not converge. The interval of μ is Hartung & Knapp's (2001),
//! modified so that it is never narrower than without their correction (Röver, Knapp & Friede 2015). For one more
//! machine the prediction interval applies (Higgins, Thompson & Spiegelhalter 2009); see `pooled/next.rs`.

mod next;

use crate::{holm, student};

/// Minimum number of machines that are pooled: with fewer, the between-machine variance cannot be estimated.
pub const FEWEST_MACHINES: usize = 5;

/// Minimum variance of an effect: smaller variances are rounding errors.
const LEAST_VARIANCE: f64 = 1e-12;

/// Up to this many machines, each is compared with a τ² that was estimated without it.
const REFIT_UP_TO: usize = 100;

/// One machine's effect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// The estimate, in log units.
    pub value: f64,
    /// Its squared standard error.
    pub variance: f64,
}

/// The method by which the variance between machines was estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heterogeneity {
    /// Restricted maximum likelihood.
    Reml,
    /// Paule and Mandel's estimating equation, used if REML did not converge.
    PauleMandel,
}

/// The effects of many machines combined. All fields except the counts are in log units or their squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pooled {
    /// Number of machines.
    pub machines: usize,
    /// The mean over all machines of this kind.
    pub mean: f64,
    /// Its standard error (modified Hartung–Knapp).
    pub standard_error: f64,
    /// Lower end of the interval of the mean.
    pub low: f64,
    /// Upper end of the interval of the mean.
    pub high: f64,
    /// Variance between machines, τ².
    pub between: f64,
    /// The method of estimation.
    pub method: Heterogeneity,
    /// Share of the variance of the effects that is between machines, 0 to 1 (I² of Higgins & Thompson 2002).
    pub share_between: f64,
    /// Lower end of the prediction interval for the next machine's true effect.
    pub next_low: f64,
    /// Upper end of the prediction interval for the next machine's true effect.
    pub next_high: f64,
}

/// Pools the effects, with intervals of `confidence` (a fraction, such as 0.95).
///
/// `None` below [`FEWEST_MACHINES`], for a value that is not finite, a negative variance, or a confidence outside (0, 1).
pub fn pool(effects: &[Effect], confidence: f64) -> Option<Pooled> {
    pooled(effects, confidence, Fit::of)
}

/// Like [`pool`], but always with τ² by Paule and Mandel's estimating equation instead of REML.
pub fn pool_by_paule_mandel(effects: &[Effect], confidence: f64) -> Option<Pooled> {
    let fit = |e: &[Effect]| Fit::with(e, paule_mandel(e), Heterogeneity::PauleMandel);
    pooled(effects, confidence, fit)
}

fn pooled(effects: &[Effect], confidence: f64, fit: fn(&[Effect]) -> Fit) -> Option<Pooled> {
    if effects.len() < FEWEST_MACHINES {
        return None;
    }
    let sound = sound(effects)?;
    let fit = fit(&sound);
    let df = (sound.len() - 1) as f64;
    let t = student::interval_quantile(df, confidence)?;
    let half_width = t * fit.variance.sqrt();
    let (next_low, next_high) = next::interval(&sound, confidence)?;
    Some(Pooled {
        machines: sound.len(),
        mean: fit.mean,
        standard_error: fit.variance.sqrt(),
        low: fit.mean - half_width,
        high: fit.mean + half_width,
        between: fit.between,
        method: fit.method,
        share_between: fit.between / (fit.between + typical_variance(&sound)),
        // The next machine cannot be known better than the mean of all machines. If machines do not differ, the
        // modification makes the interval of the mean the wider one.
        next_low: next_low.min(fit.mean - half_width),
        next_high: next_high.max(fit.mean + half_width),
    })
}

impl Pooled {
    /// The two-sided p-value of "this machine is one of these", for a machine outside these.
    pub fn p_of_next(&self, effect: Effect) -> f64 {
        let variance = effect.variance + self.between + self.standard_error.powi(2);
        let df = (self.machines - 1) as f64;
        student::two_sided_p(df, (effect.value - self.mean) / variance.sqrt())
    }
}

/// For each effect, the p-value of "this machine is like the others", with Holm's correction over all effects. `None`
/// as for [`pool`].
pub fn outliers(effects: &[Effect]) -> Option<Vec<f64>> {
    residual_p(effects).map(|raw| holm(&raw))
}

/// The p-values of [`outliers`] before Holm's correction, for a family that is larger than one pool.
///
/// Residuals are externally studentised (Viechtbauer & Cheung 2010, *Research Synthesis Methods* 1:112): the mean and
/// τ² are estimated without the machine. For more than 100 machines, where one barely changes τ², the τ² of all
/// machines is used.
pub fn residual_p(effects: &[Effect]) -> Option<Vec<f64>> {
    if effects.len() < FEWEST_MACHINES {
        return None;
    }
    let sound = sound(effects)?;
    let df = (sound.len() - 2) as f64;
    let p = |effect: &Effect, fit: &Fit| {
        let variance = effect.variance + fit.between + fit.variance;
        student::two_sided_p(df, (effect.value - fit.mean) / variance.sqrt())
    };
    if sound.len() > REFIT_UP_TO {
        let all = Fit::of(&sound);
        let sums = Sums::of(&sound, all.between);
        return Some(sound.iter().map(|e| p(e, &all.without(&sums, *e, sound.len()))).collect());
    }
    let mut others = sound.clone();
    let without = |i: usize| {
        others.clone_from(&sound);
        others.remove(i);
        p(&sound[i], &Fit::of(&others))
    };
    Some((0..sound.len()).map(without).collect())
}

/// The effects with variances that can be divided by; empty if a value is not finite.
fn sound(effects: &[Effect]) -> Option<Vec<Effect>> {
    let each = |e: &Effect| {
        let valid = e.value.is_finite() && e.variance.is_finite() && e.variance >= 0.0;
        valid.then(|| Effect { variance: e.variance.max(LEAST_VARIANCE), ..*e })
    };
    effects.iter().map(each).collect()
}

/// The model's estimates.
#[derive(Clone, Copy)]
struct Fit {
    mean: f64,
    /// Of the mean.
    variance: f64,
    between: f64,
    method: Heterogeneity,
}

impl Fit {
    fn of(effects: &[Effect]) -> Self {
        let (between, method) = match reml(effects) {
            Some(between) => (between, Heterogeneity::Reml),
            None => (paule_mandel(effects), Heterogeneity::PauleMandel),
        };
        Self::with(effects, between, method)
    }

    fn with(effects: &[Effect], between: f64, method: Heterogeneity) -> Self {
        let sums = Sums::of(effects, between);
        // Hartung and Knapp's factor, not below 1.
        let factor = (sums.spread / (effects.len() - 1) as f64).max(1.0);
        Self { mean: sums.mean, variance: factor / sums.weight, between, method }
    }

    /// The fit to all `count` effects except one, with the same τ², from the sums over all effects.
    fn without(&self, sums: &Sums, effect: Effect, count: usize) -> Self {
        let own = 1.0 / (effect.variance + self.between);
        let weight = sums.weight - own;
        let mean = (sums.mean * sums.weight - own * effect.value) / weight;
        let spread = sums.spread - own * sums.weight / weight * (effect.value - sums.mean).powi(2);
        let factor = (spread / (count - 2) as f64).max(1.0);
        Self { mean, variance: factor / weight, ..*self }
    }
}

/// Sums over the effects with the weights w = 1 / (v + τ²).
struct Sums {
    mean: f64,
    /// Σw.
    weight: f64,
    /// Σw².
    weight2: f64,
    /// Σw³.
    weight3: f64,
    /// Σw (y - μ)².
    spread: f64,
    /// Σw² (y - μ)².
    spread2: f64,
}

impl Sums {
    fn of(effects: &[Effect], between: f64) -> Self {
        let weight = |e: &Effect| 1.0 / (e.variance + between);
        let total: f64 = effects.iter().map(weight).sum();
        let mean = effects.iter().map(|e| weight(e) * e.value).sum::<f64>() / total;
        let mut sums =
            Self { mean, weight: total, weight2: 0.0, weight3: 0.0, spread: 0.0, spread2: 0.0 };
        for e in effects {
            let (w, squared) = (weight(e), (e.value - mean).powi(2));
            sums.weight2 += w * w;
            sums.weight3 += w * w * w;
            sums.spread += w * squared;
            sums.spread2 += w * w * squared;
        }
        sums
    }
}

/// τ² by restricted maximum likelihood: Fisher scoring, halving steps that would leave the range; `None` if it does not
/// converge.
fn reml(effects: &[Effect]) -> Option<f64> {
    const STEPS: usize = 200;
    let mut between = spread_of_values(effects);
    let scale = between.max(typical_variance(effects));
    for _ in 0..STEPS {
        let s = Sums::of(effects, between);
        let ratio = s.weight2 / s.weight;
        let trace = s.weight - ratio;
        let trace2 = s.weight2 - 2.0 * s.weight3 / s.weight + ratio * ratio;
        let mut step = (s.spread2 - trace) / trace2;
        if !step.is_finite() {
            return None;
        }
        if between == 0.0 && step <= 0.0 {
            return Some(0.0);
        }
        if between + step < 0.0 {
            step = -between;
        }
        between += step;
        if step.abs() <= 1e-10 * scale {
            return Some(between);
        }
    }
    None
}

/// The τ² at which the weighted sum of squares equals its expected value, k - 1. Found by bisection, because the
/// sum falls with τ².
fn paule_mandel(effects: &[Effect]) -> f64 {
    let expected = (effects.len() - 1) as f64;
    let above = |between: f64| Sums::of(effects, between).spread > expected;
    if !above(0.0) {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, spread_of_values(effects).max(LEAST_VARIANCE));
    while above(high) {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if above(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// The variance of the values, ignoring their uncertainties.
fn spread_of_values(effects: &[Effect]) -> f64 {
    let n = effects.len() as f64;
    let mean = effects.iter().map(|e| e.value).sum::<f64>() / n;
    effects.iter().map(|e| (e.value - mean).powi(2)).sum::<f64>() / (n - 1.0)
}

/// Higgins and Thompson's typical variance of a measurement.
fn typical_variance(effects: &[Effect]) -> f64 {
    let s = Sums::of(effects, 0.0);
    (effects.len() - 1) as f64 * s.weight / (s.weight * s.weight - s.weight2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thirteen trials of the BCG vaccine: log risk ratios from the tables of Colditz et al. (1994), JAMA 271:698.
    fn bcg() -> Vec<Effect> {
        // Tuberculosis and none among the vaccinated, then among the others.
        [
            [4, 119, 11, 128],
            [6, 300, 29, 274],
            [3, 228, 11, 209],
            [62, 13536, 248, 12619],
            [33, 5036, 47, 5761],
            [180, 1361, 372, 1079],
            [8, 2537, 10, 619],
            [505, 87886, 499, 87892],
            [29, 7470, 45, 7232],
            [17, 1699, 65, 1600],
            [186, 50448, 141, 27197],
            [5, 2493, 3, 2338],
            [27, 16886, 29, 17825],
        ]
        .map(|cells: [u32; 4]| {
            let [a, b, c, d] = cells.map(f64::from);
            let value = ((a / (a + b)) / (c / (c + d))).ln();
            let variance = 1.0 / a - 1.0 / (a + b) + 1.0 / c - 1.0 / (c + d);
            Effect { value, variance }
        })
        .to_vec()
    }

    /// The output of metafor's `rma(yi, vi, data=dat.bcg)` (Viechtbauer 2010, *Journal of Statistical Software*
    /// 36:3, section 5.1): estimate -0.7145, τ² 0.3132, I² 92.22 %.
    #[test]
    fn it_gives_what_metafor_prints_for_the_bcg_trials() {
        let found = pool(&bcg(), 0.95).unwrap();
        assert_eq!((found.machines, found.method), (13, Heterogeneity::Reml));
        assert!((found.mean - -0.7145).abs() < 5e-5, "{}", found.mean);
        assert!((found.between - 0.3132).abs() < 5e-5, "{}", found.between);
        assert!((found.share_between - 0.9222).abs() < 5e-5, "{}", found.share_between);
    }

    #[test]
    #[expect(clippy::approx_constant, reason = "0.3180 is a variance")]
    fn paule_and_mandel_solve_their_equation() {
        let effects = bcg();
        let between = paule_mandel(&effects);
        assert!((Sums::of(&effects, between).spread - 12.0).abs() < 1e-9);
        // metafor's `rma(yi, vi, data=dat.bcg, method="PM")`.
        assert!((between - 0.3180).abs() < 5e-4, "{between}");
    }

    #[test]
    fn machines_that_differ_by_their_noise_alone_have_nothing_between_them() {
        let effects =
            [0.01, -0.01, 0.005, -0.005, 0.0].map(|value| Effect { value, variance: 1e-3 });
        let found = pool(&effects, 0.95).unwrap();
        assert_eq!(found.between, 0.0);
        // Never narrower than the plain random-effects interval.
        assert!((found.standard_error - (1e-3_f64 / 5.0).sqrt()).abs() < 1e-12);
        // The next machine cannot be known better than their mean either.
        assert!(found.next_low <= found.low && found.high <= found.next_high);
    }

    #[test]
    fn few_machines_and_what_is_no_number_are_refused() {
        let one = Effect { value: -0.1, variance: 1e-4 };
        assert_eq!(pool(&[one; 4], 0.95), None);
        assert!(pool(&[one; 5], 0.95).is_some());
        for bad in [Effect { value: f64::NAN, ..one }, Effect { variance: -1.0, ..one }] {
            assert_eq!(pool(&[one, one, one, one, bad], 0.95), None);
        }
        assert_eq!(pool(&[one; 5], 1.0), None);
        assert_eq!(outliers(&[one; 4]), None);
    }

    #[test]
    fn leaving_one_out_by_sums_is_leaving_it_out() {
        let effects = bcg();
        let all = Fit::of(&effects);
        let sums = Sums::of(&effects, all.between);
        for i in 0..effects.len() {
            let mut others = effects.clone();
            let left_out = others.remove(i);
            let expected = Fit::with(&others, all.between, all.method);
            let found = all.without(&sums, left_out, effects.len());
            assert!((found.mean - expected.mean).abs() < 1e-12, "{i}");
            assert!((found.variance / expected.variance - 1.0).abs() < 1e-9, "{i}");
        }
    }

    #[test]
    fn a_machine_that_is_not_among_them_is_judged_by_the_pool() {
        let effects: Vec<Effect> = (0..20)
            .map(|i| Effect { value: -0.1 + 0.01 * f64::from(i % 5), variance: 1e-5 })
            .collect();
        let found = pool(&effects, 0.95).unwrap();
        let next = |value| found.p_of_next(Effect { value, variance: 0.0 });
        // About at the ends of the prediction interval 5 % is reached.
        assert!((0.02..0.08).contains(&next(found.next_low)), "{}", next(found.next_low));
        assert!(next(-0.5) < 1e-6 && next(found.mean) > 0.99);
    }

    #[test]
    fn a_machine_unlike_the_others_is_found_and_no_other() {
        let mut effects: Vec<Effect> = (0..16)
            .map(|i| Effect { value: -0.1 + 0.002 * f64::from(i % 5), variance: 1e-5 })
            .collect();
        effects[11].value = -0.5;
        let p = outliers(&effects).unwrap();
        let found: Vec<usize> = (0..16).filter(|i| p[*i] < 0.01).collect();
        assert_eq!(found, [11], "{p:?}");
    }
}
