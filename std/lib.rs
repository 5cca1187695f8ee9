//! The texts of the standard library, which is written in Diffeo.

/// The modules: their names and texts. A long one is in several files, one after the other.
pub const MODULES: &[(&str, &str)] = &[
    (
        "prelude",
        concat!(
            include_str!("prelude.deo"),
            include_str!("prelude/arrays.deo"),
            include_str!("prelude/signals.deo")
        ),
    ),
    ("bayes", concat!(include_str!("bayes.deo"), include_str!("bayes/predictive.deo"))),
    ("gp", include_str!("gp.deo")),
    ("interval", include_str!("interval.deo")),
    (
        "linalg",
        concat!(
            include_str!("linalg.deo"),
            include_str!("linalg/symmetric.deo"),
            include_str!("linalg/bidiagonal.deo"),
            include_str!("linalg/svd.deo"),
            include_str!("linalg/schur.deo"),
            include_str!("linalg/eig.deo"),
            include_str!("linalg/functions.deo"),
            include_str!("linalg/expm.deo"),
            include_str!("linalg/krylov.deo")
        ),
    ),
    ("nn", include_str!("nn.deo")),
    (
        "ode",
        concat!(
            include_str!("ode.deo"),
            include_str!("ode/stiff.deo"),
            include_str!("ode/adjoint.deo"),
            include_str!("ode/dense.deo"),
            include_str!("ode/collocation.deo"),
            include_str!("ode/dae.deo"),
            include_str!("ode/delay.deo"),
            include_str!("ode/stochastic.deo")
        ),
    ),
    (
        "optim",
        concat!(
            include_str!("optim.deo"),
            include_str!("optim/newton.deo"),
            include_str!("optim/least_squares.deo"),
            include_str!("optim/bounds.deo"),
            include_str!("optim/constraints.deo"),
            include_str!("optim/search.deo"),
            include_str!("optim/simplex.deo"),
            include_str!("optim/global.deo"),
            include_str!("optim/nlp.deo"),
            include_str!("optim/conditions.deo"),
            include_str!("optim/interior.deo"),
            include_str!("optim/programs.deo"),
            include_str!("optim/schedules.deo")
        ),
    ),
    ("plot", include_str!("plot.deo")),
    (
        "quadrature",
        concat!(
            include_str!("quadrature.deo"),
            include_str!("quadrature/limits.deo"),
            include_str!("quadrature/samples.deo"),
            include_str!("quadrature/several.deo"),
            include_str!("quadrature/enclosed.deo")
        ),
    ),
    ("random", concat!(include_str!("random.deo"), include_str!("random/expect.deo"))),
    (
        "root",
        concat!(
            include_str!("root.deo"),
            include_str!("root/brent.deo"),
            include_str!("root/proved.deo")
        ),
    ),
    (
        "sparse",
        concat!(
            include_str!("sparse.deo"),
            include_str!("sparse/orders.deo"),
            include_str!("sparse/factors.deo"),
            include_str!("sparse/symmetric.deo"),
            include_str!("sparse/derivatives.deo"),
            include_str!("sparse/patterns.deo")
        ),
    ),
    (
        "special",
        concat!(
            include_str!("special.deo"),
            include_str!("special/further.deo"),
            include_str!("special/hypergeometric.deo")
        ),
    ),
    ("spline", include_str!("spline.deo")),
    (
        "stats",
        concat!(
            include_str!("stats.deo"),
            include_str!("stats/tails.deo"),
            include_str!("stats/continuous.deo"),
            include_str!("stats/gamma_and_beta.deo"),
            include_str!("stats/discrete.deo"),
            include_str!("stats/further.deo"),
            include_str!("stats/vectors.deo"),
            include_str!("stats/tests.deo"),
            include_str!("stats/ranks.deo"),
            include_str!("stats/residuals.deo"),
            include_str!("stats/fits.deo"),
            include_str!("stats/glm.deo"),
            include_str!("stats/links.deo"),
            include_str!("stats/tables.deo")
        ),
    ),
    ("text", include_str!("text.deo")),
    ("time", include_str!("time.deo")),
];
