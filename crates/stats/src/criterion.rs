//! Chooses the model that describes numbers best, by least squares on the log scale and Akaike's criterion.

/// The fit of a model with its best parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// Root mean square of ln(value / model).
    pub residual: f64,
    /// Akaike's criterion with the correction for few values. The model with the smaller value is better; a model whose
    /// value is 10 larger has essentially no support (K. Burnham and D. Anderson, "Model selection and multimodel
    /// inference", 2002, section 2.6).
    pub criterion: f64,
}

impl Fit {
    /// The fit of a model with `parameters` free parameters, from ln(value / model) of each value.
    ///
    /// `None` unless there are at least three values more than parameters, and all are finite.
    pub fn of(residuals: &[f64], parameters: usize) -> Option<Self> {
        // One more parameter, because the spread of the residuals is also estimated.
        let (n, k) = (residuals.len() as f64, parameters as f64 + 1.0);
        if n < k + 2.0 || residuals.iter().any(|r| !r.is_finite()) {
            return None;
        }
        let squares = residuals.iter().map(|r| r * r).sum::<f64>() / n;
        let criterion = n * squares.ln() + 2.0 * k + 2.0 * k * (k + 1.0) / (n - k - 1.0);
        Some(Self { residual: squares.sqrt(), criterion })
    }
}

/// Number of values that [`least`] examines before it narrows the range.
const COARSE: u32 = 60;

/// Steps of the golden section; each leaves 0.618 of the interval.
const FINE: u32 = 30;

/// The positive `x` between `low` and `high` at which `f` is least: on a logarithmic grid, then by
/// the golden section between its neighbours.
pub fn least(low: f64, high: f64, f: impl Fn(f64) -> f64) -> f64 {
    let at = |i: u32| low * (high / low).powf(f64::from(i) / f64::from(COARSE));
    let best = (0..=COARSE).min_by(|a, b| f(at(*a)).total_cmp(&f(at(*b)))).unwrap_or(0);
    let (mut low, mut high) = (at(best.saturating_sub(1)).ln(), at((best + 1).min(COARSE)).ln());
    let golden = (5f64.sqrt() - 1.0) / 2.0;
    for _ in 0..FINE {
        let part = golden * (high - low);
        let (left, right) = (high - part, low + part);
        match f(left.exp()) <= f(right.exp()) {
            true => high = right,
            false => low = left,
        }
    }
    f64::midpoint(low, high).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_is_found_between_the_points_of_the_grid_and_at_the_ends() {
        let x = least(1.0, 1000.0, |x| (x.ln() - 37.3f64.ln()).powi(2));
        assert!((x - 37.3).abs() < 1e-3, "{x}");
        assert!((least(1.0, 1000.0, |x| x) - 1.0).abs() < 1e-3);
        assert!((least(1.0, 1000.0, |x| -x) - 1000.0).abs() < 1e-1);
    }

    /// By hand: n = 5, k = 2, squares = 0.01: 5 ln 0.01 + 4 + 12 / 2.
    #[test]
    fn the_criterion_is_the_published_formula() {
        let fit = Fit::of(&[0.1, -0.1, 0.1, -0.1, 0.1], 1).unwrap();
        assert!((fit.residual - 0.1).abs() < 1e-12);
        assert!((fit.criterion - (5.0 * 0.01f64.ln() + 10.0)).abs() < 1e-9);
        assert_eq!(Fit::of(&[0.1; 3], 1), None);
        assert_eq!(Fit::of(&[0.1, f64::NAN, 0.1, 0.1, 0.1], 1), None);
    }

    #[test]
    fn a_parameter_that_explains_nothing_makes_a_model_worse() {
        let residuals = [0.1, -0.1, 0.1, -0.1, 0.1, -0.1];
        let (one, two) = (Fit::of(&residuals, 1).unwrap(), Fit::of(&residuals, 2).unwrap());
        assert!(one.criterion < two.criterion);
    }
}
