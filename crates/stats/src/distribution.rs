//! Areas and quantiles of the normal, Student's t and χ² distributions.
//!
//! The normal area is `erfc` of libm; its quantile is Wichura's algorithm AS 241 (1988, *Applied Statistics* 37:477).
//! The other functions are continued fractions and series of the incomplete beta and gamma functions: Press et al.,
//! *Numerical Recipes*, 3rd edition, 6.2 and 6.4.
#![allow(
    clippy::excessive_precision,
    reason = "coefficients are written as their references print them"
)]

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// Maximum number of terms of a series or fraction; none needs that many.
const MOST_STEPS: u32 = 100_000;

/// Φ(z), the area of the standard normal distribution below `z`.
pub(crate) fn normal_area(z: f64) -> f64 {
    0.5 * libm::erfc(-z * FRAC_1_SQRT_2)
}

/// The z below which the standard normal distribution has the area `p`; infinite for 0 and 1, NaN outside this range.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        return q * ratio(0.180_625 - q * q, &CENTRE);
    }
    let r = (-p.min(1.0 - p).ln()).sqrt();
    let z = if r == f64::INFINITY {
        r
    } else if r <= 5.0 {
        ratio(r - 1.6, &MIDDLE)
    } else {
        ratio(r - 5.0, &TAIL)
    };
    z.copysign(q)
}

/// Coefficients of the numerator and the denominator, from the highest power.
type Ratio = [[f64; 8]; 2];

fn ratio(x: f64, [above, below]: &Ratio) -> f64 {
    let of = |terms: &[f64; 8]| terms.iter().fold(0.0, |sum, term| sum * x + term);
    of(above) / of(below)
}

const CENTRE: Ratio = [
    [
        2509.0809287301226727,
        33430.575583588128105,
        67265.770927008700853,
        45921.953931549871457,
        13731.693765509461125,
        1971.5909503065514427,
        133.14166789178437745,
        3.387132872796366608,
    ],
    [
        5226.495278852854561,
        28729.085735721942674,
        39307.89580009271061,
        21213.794301586595867,
        5394.1960214247511077,
        687.1870074920579083,
        42.313330701600911252,
        1.0,
    ],
];

const MIDDLE: Ratio = [
    [
        7.7454501427834140764e-4,
        0.0227238449892691845833,
        0.24178072517745061177,
        1.27045825245236838258,
        3.64784832476320460504,
        5.7694972214606914055,
        4.6303378461565452959,
        1.42343711074968357734,
    ],
    [
        1.05075007164441684324e-9,
        5.475938084995344946e-4,
        0.0151986665636164571966,
        0.14810397642748007459,
        0.68976733498510000455,
        1.6763848301838038494,
        2.05319162663775882187,
        1.0,
    ],
];

const TAIL: Ratio = [
    [
        2.01033439929228813265e-7,
        2.71155556874348757815e-5,
        0.0012426609473880784386,
        0.026532189526576123093,
        0.29656057182850489123,
        1.7848265399172913358,
        5.4637849111641143699,
        6.6579046435011037772,
    ],
    [
        2.04426310338993978564e-15,
        1.4215117583164458887e-7,
        1.8463183175100546818e-5,
        7.868691311456132591e-4,
        0.0148753612908506148525,
        0.13692988092273580531,
        0.59983220655588793769,
        1.0,
    ],
];

/// Density of Student's t with `df` degrees of freedom.
pub(crate) fn student_density(df: f64, t: f64) -> f64 {
    let ln =
        ln_gamma_step(df / 2.0) - 0.5 * (PI * df).ln() - (df + 1.0) / 2.0 * (t * t / df).ln_1p();
    ln.exp()
}

/// The area of Student's t above `t` ≥ 0 with `df` degrees of freedom.
pub(crate) fn student_tail(df: f64, t: f64) -> f64 {
    // Half of the regularised incomplete beta function with a = df / 2, b = 1/2 at df / (df + t²).
    let (a, b, square) = (df / 2.0, 0.5, t * t / df);
    let (ln_x, y) = (-square.ln_1p(), square / (1.0 + square));
    let front = (ln_gamma_step(a) - 0.5 * PI.ln() + a * ln_x).exp() * y.sqrt();
    // The fraction converges fast on its own side of the mean.
    if y > 1.5 / (a + 2.5) {
        0.5 * front * beta_fraction(a, b, 1.0 - y) / a
    } else {
        0.5 - 0.5 * front * beta_fraction(b, a, y) / b
    }
}

/// The continued fraction of the incomplete beta function, by Lentz's method.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    let term = |step: u32| {
        let m = f64::from(step / 2);
        if step.is_multiple_of(2) {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        }
    };
    lentz(1.0, |step| (term(step), 1.0))
}

/// 1 / (first + n₁ / (d₁ + n₂ / (d₂ + …))) of the terms (n, d).
fn lentz(first: f64, term: impl Fn(u32) -> (f64, f64)) -> f64 {
    let away = |x: f64| if x.abs() < f64::MIN_POSITIVE { f64::MIN_POSITIVE } else { x };
    let (mut c, mut d) = (1.0 / f64::MIN_POSITIVE, 1.0 / away(first));
    let mut value = d;
    for step in 1..MOST_STEPS {
        let (n, denominator) = term(step);
        d = 1.0 / away(denominator + n * d);
        c = away(denominator + n / c);
        value *= c * d;
        if (c * d - 1.0).abs() < 1e-16 {
            break;
        }
    }
    value
}

/// ln Γ(a + ½) - ln Γ(a). For large `a` both are so large that their difference would lose its digits.
fn ln_gamma_step(a: f64) -> f64 {
    if a < 20.0 {
        return libm::lgamma(a + 0.5) - libm::lgamma(a);
    }
    // The asymptotic series of the ratio's logarithm: Tricomi & Erdélyi (1951), *Pacific Journal of Mathematics* 1:133.
    let square = 1.0 / (a * a);
    let series = [31.0 / 18432.0, -17.0 / 14336.0, 1.0 / 640.0, -1.0 / 192.0, 1.0 / 8.0];
    0.5 * a.ln() - series.iter().fold(0.0, |sum, term| sum * square + term) / a
}

/// The χ² below which the distribution with `df` degrees of freedom has the area `p` (0 < p < 1).
pub(crate) fn chi_square_quantile(df: f64, p: f64) -> f64 {
    // Wilson and Hilferty's approximation, then Newton's steps on the logarithm, which cannot leave the positive numbers.
    let part = 2.0 / (9.0 * df);
    let cube = 1.0 - part + normal_quantile(p) * part.sqrt();
    let small = ((p.ln() + libm::lgamma(df / 2.0 + 1.0)) * 2.0 / df).exp() * 2.0;
    let mut x = if cube > 0.3 { df * cube.powi(3) } else { small };
    for _ in 0..60 {
        let (below, above) = gamma_areas(df / 2.0, x / 2.0);
        // Uses the smaller area, which keeps all its digits.
        let error =
            if p < 0.5 { (below / p).ln() * below } else { ((1.0 - p) / above).ln() * above };
        let density = (df / 2.0 * (x / 2.0).ln() - x / 2.0 - libm::lgamma(df / 2.0)).exp();
        let step = error / density;
        if !step.is_finite() {
            break;
        }
        x *= (-step).clamp(-2.0, 2.0).exp();
        if step.abs() < 1e-14 {
            break;
        }
    }
    x
}

/// The regularised incomplete gamma functions: the areas below and above `x`.
fn gamma_areas(a: f64, x: f64) -> (f64, f64) {
    let front = (a * x.ln() - x - libm::lgamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum) = (1.0 / a, 1.0 / a);
        for step in 1..MOST_STEPS {
            term *= x / (a + f64::from(step));
            sum += term;
            if term < sum * 1e-17 {
                break;
            }
        }
        (front * sum, 1.0 - front * sum)
    } else {
        let term = |step: u32| {
            let i = f64::from(step);
            (-i * (i - a), x + 2.0 * i + 1.0 - a)
        };
        let above = front * lentz(x + 1.0 - a, term);
        (1.0 - above, above)
    }
}

/// Compared with mpmath 1.4.1 with 50 digits, from the definitions: erfc, betainc, gammainc, and an integral of the
/// density.
#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64, within: f64, what: &dyn std::fmt::Debug) {
        let off = if expected == 0.0 { found } else { found / expected - 1.0 };
        assert!(off.abs() < within, "{what:?}: {found}, not {expected}: off by {off:e}");
    }

    #[test]
    fn normal_areas_and_quantiles() {
        for case in AREAS {
            close(normal_area(case.0), case.1, 1e-13, &case);
        }
        for case in QUANTILES {
            close(normal_quantile(case.0), case.1, 3e-15, &case);
        }
        assert_eq!([0.0, 1.0].map(normal_quantile), [f64::NEG_INFINITY, f64::INFINITY]);
        assert!(normal_quantile(-0.1).is_nan() && normal_quantile(f64::NAN).is_nan());
    }

    #[test]
    fn tails_of_student() {
        for case in TAILS {
            // With many degrees of freedom, df / (df + t²) is so close to 1 that it loses digits.
            let within = if case.0 < 1e5 { 1e-11 } else { 1e-6 };
            close(student_tail(case.0, case.1), case.2, within, &case);
        }
    }

    /// The density is the slope of the area.
    #[test]
    fn density_of_student() {
        for (df, t, _) in
            TAILS.into_iter().filter(|(df, t, _)| *df < 1e5 && (0.1..10.0).contains(t))
        {
            let h = 1e-5 * t;
            let slope = (student_tail(df, t - h) - student_tail(df, t + h)) / (2.0 * h);
            close(student_density(df, t), slope, 1e-6, &(df, t));
        }
    }

    #[test]
    fn quantiles_of_chi_square() {
        for case in CHI_SQUARE {
            close(chi_square_quantile(case.0, case.1), case.2, 1e-12, &case);
        }
    }

    const AREAS: [(f64, f64); 12] = [
        (-37.5, 4.605353009581955e-308),
        (-20.0, 2.7536241186062337e-89),
        (-8.3, 5.205569744890254e-17),
        (-3.09, 0.0010007824766140108),
        (-1.96, 0.024997895148220435),
        (-0.5, 0.3085375387259869),
        (-1e-09, 0.49999999960105773),
        (0.0, 0.5),
        (0.3, 0.6179114221889527),
        (1.0, 0.8413447460685429),
        (2.5758293035489, 0.995),
        (6.0, 0.9999999990134123),
    ];

    const QUANTILES: [(f64, f64); 18] = [
        (1e-300, -37.0470962993612),
        (1e-100, -21.273453560965326),
        (1e-20, -9.262340089798407),
        (1e-10, -6.361340902404057),
        (0.0001, -3.7190164854556804),
        (0.005, -2.575829303548901),
        (0.025, -1.9599639845400543),
        (0.07, -1.4757910281791706),
        (0.0749, -1.4402382675279637),
        (0.0751, -1.43882539275254),
        (0.25, -0.6744897501960817),
        (0.42, -0.20189347914185088),
        (0.5, 0.0),
        (0.6, 0.2533471031357997),
        (0.925, 1.4395314709384561),
        (0.975, 1.9599639845400538),
        (0.9999, 3.7190164854557084),
        (0.9999999999990905, 7.047700256664409),
    ];

    const TAILS: [(f64, f64, f64); 71] = [
        (1.0, 1e-06, 0.49999968169011383),
        (1.0, 0.4, 0.3788810584091566),
        (1.0, 1.7, 0.16925302733033268),
        (1.0, 1.8, 0.16141446721709524),
        (1.0, 6.0, 0.05256845671125343),
        (1.0, 40.0, 0.007956089912025814),
        (2.0, 1e-06, 0.4999996464466094),
        (2.0, 0.4, 0.36391723651204566),
        (2.0, 1.7, 0.11561671310078561),
        (2.0, 1.8, 0.10683317450253292),
        (2.0, 6.0, 0.013335736607712385),
        (2.0, 40.0, 0.0003122073360923703),
        (3.5, 1e-06, 0.49999962822765626),
        (3.5, 0.4, 0.35617244676722193),
        (3.5, 1.7, 0.08724036647536393),
        (3.5, 1.8, 0.07819811820061462),
        (3.5, 6.0, 0.0029444763224578227),
        (3.5, 40.0, 4.38322055468651e-06),
        (7.0, 1e-06, 0.49999961500854917),
        (7.0, 0.4, 0.35054083358520255),
        (7.0, 1.7, 0.06646444839127763),
        (7.0, 1.8, 0.05744222659722225),
        (7.0, 6.0, 0.00027112917100140504),
        (7.0, 40.0, 7.951089992425185e-10),
        (11.0, 1e-06, 0.49999961001024296),
        (11.0, 0.4, 0.348407287613146),
        (11.0, 1.7, 0.058598209323438635),
        (11.0, 1.8, 0.04965794656938473),
        (11.0, 6.0, 4.463064602034565e-05),
        (11.0, 40.0, 1.4462704490602862e-13),
        (39.0, 1e-06, 0.49999960360658463),
        (39.0, 0.4, 0.3456695260111265),
        (39.0, 1.7, 0.04854711286563124),
        (39.0, 1.8, 0.039799877412467946),
        (39.0, 6.0, 2.589443912786548e-07),
        (39.0, 40.0, 1.4094057013981566e-33),
        (40.0, 1e-06, 0.4999996035430753),
        (40.0, 0.4, 0.34564234656453674),
        (40.0, 1.7, 0.048447728811787306),
        (40.0, 1.8, 0.03970301214198325),
        (40.0, 6.0, 2.3632275663940938e-07),
        (40.0, 40.0, 3.5204052873892463e-34),
        (41.0, 1e-06, 0.4999996034826536),
        (41.0, 0.4, 0.34561648797266525),
        (41.0, 1.7, 0.048353183910004614),
        (41.0, 1.8, 0.039610875969677585),
        (41.0, 6.0, 2.163307905189005e-07),
        (41.0, 40.0, 8.901214525129479e-35),
        (199.0, 1e-06, 0.4999996015585866),
        (199.0, 0.4, 0.34479277396887353),
        (199.0, 1.7, 0.0453466448191202),
        (199.0, 1.8, 0.036687622256474255),
        (199.0, 6.0, 4.58908500202234e-09),
        (199.0, 40.0, 2.169729283464582e-97),
        (1999.0, 1e-06, 0.4999996011076092),
        (1999.0, 0.4, 0.3445996272189678),
        (1999.0, 1.7, 0.04464324349818806),
        (1999.0, 1.8, 0.0360056786912254),
        (1999.0, 6.0, 1.1682186854693462e-09),
        (1999.0, 40.0, 7.670815497352026e-258),
        (50000.0, 1e-06, 0.4999996010597143),
        (50000.0, 0.4, 0.34457911277396647),
        (50000.0, 1.7, 0.04456857248895288),
        (50000.0, 1.8, 0.03593333185650399),
        (50000.0, 6.0, 9.933517623468984e-10),
        (50000.0, 40.0, 0.0),
        (1000000000.0, 1e-06, 0.4999996010577197),
        (1000000000.0, 0.4, 0.34457825843239515),
        (1000000000.0, 1.7, 0.04456546291402968),
        (1000000000.0, 1.8, 0.0359303192635627),
        (1000000000.0, 6.0, 9.865879822492458e-10),
    ];

    const CHI_SQUARE: [(f64, f64, f64); 35] = [
        (1.0, 0.005, 3.92704222205159e-05),
        (1.0, 0.095, 0.014243841675367066),
        (1.0, 0.5, 0.4549364231195728),
        (1.0, 0.745, 1.295700896855891),
        (1.0, 0.995, 7.879438576622416),
        (2.0, 0.005, 0.010025083647088564),
        (2.0, 0.095, 0.19964067056442186),
        (2.0, 0.5, 1.3862943611198906),
        (2.0, 0.745, 2.7329834676474216),
        (2.0, 0.995, 10.59663473309607),
        (3.0, 0.005, 0.07172177458649198),
        (3.0, 0.095, 0.5623266645962205),
        (3.0, 0.5, 2.365973884375338),
        (3.0, 0.745, 4.060546374078635),
        (3.0, 0.995, 12.83815646659865),
        (7.0, 0.005, 0.9892556831329503),
        (7.0, 0.095, 2.7750865312525153),
        (7.0, 0.5, 6.3458111955215175),
        (7.0, 0.745, 8.967470245466478),
        (7.0, 0.995, 20.277739874962624),
        (19.0, 0.005, 6.843971445482955),
        (19.0, 0.095, 11.522759968990052),
        (19.0, 0.5, 18.337652896756474),
        (19.0, 0.745, 22.609063618700137),
        (19.0, 0.995, 38.58225655493424),
        (60.0, 0.005, 35.53449107873856),
        (60.0, 0.095, 46.19153059872575),
        (60.0, 0.5, 59.33466627644246),
        (60.0, 0.745, 66.79700539755052),
        (60.0, 0.995, 91.95169815962971),
        (999.0, 0.005, 887.6211352175187),
        (999.0, 0.095, 940.914029377593),
        (999.0, 0.5, 998.333412482588),
        (999.0, 0.745, 1028.0614002251511),
        (999.0, 0.995, 1117.890452678641),
    ];
}
