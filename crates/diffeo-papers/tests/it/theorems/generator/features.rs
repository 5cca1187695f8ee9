//! What programs may have.

/// What programs may have beside Reals, `()`, tuples, `let` and the operations on Reals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Features {
    /// Int, Bool and String, with their operations.
    pub leaves: bool,
    /// Records.
    pub records: bool,
    /// Variants: `Maybe[a]`, `Shape` with Reals of its own, the recursive `Tree[a]`.
    pub variants: bool,
    /// `List[a]`, with recursion over it as in `foldr`.
    pub lists: bool,
    /// Arrays; they bring Ints, and the `if`s that keep indices in range.
    pub arrays: bool,
    /// The operations at every first-order or vector type: `add`, `scale`, `inner`, `ravel`, …
    pub polytypic: bool,
    /// Functions as values: λ everywhere, higher-order parameters, functions returned and stored. Without
    /// it, functions are those of `letrec` and definitions, with no free variables but functions.
    pub functions: bool,
    /// `letrec` and mutually recursive definitions.
    pub recursion: bool,
    /// Loops, counted and conditional; they bring Ints.
    pub loops: bool,
    /// `if`, on comparisons of Reals and all other truth values there are.
    pub conditionals: bool,
    /// `rd`, in programs without functions of an expression `λx. M` only.
    pub rd: bool,
    /// `vjp`, `jvp`, `checkpoint`, `with_derivative` (with right rules) and `jet`.
    pub derivatives: bool,
    /// `stop_gradient`, for which derivatives are not what differences give.
    pub stop_gradient: bool,
    /// Operations with kinks: `abs`, `sign`, `min`, `max`, `%`.
    pub kinky: bool,
    /// Operations beyond `+ - * neg sin cos exp` and a few more that every text book has.
    pub special: bool,
    /// `trace` and `progress`.
    pub effects: bool,
    /// Further definitions.
    pub globals: bool,
    /// Programs that may stop: indices out of range, `fail`, sizes that differ, negative counts, Int division
    /// by zero; or that may be without end, and are left out if they are.
    pub partial: bool,
    /// Programs of a few operations only.
    pub short: bool,
}

impl Features {
    /// Reals, `()`, tuples, `let` and the operations on Reals.
    pub const CORE: Features = Features {
        leaves: false,
        records: false,
        variants: false,
        lists: false,
        arrays: false,
        polytypic: false,
        functions: false,
        recursion: false,
        loops: false,
        conditionals: false,
        rd: false,
        derivatives: false,
        stop_gradient: false,
        kinky: false,
        special: true,
        effects: false,
        globals: false,
        partial: false,
        short: false,
    };

    /// The language of Abadi & Plotkin: Reals, `()`, products, operations, `let`, `letrec` of first-order
    /// functions without free variables, `if`, `rd`.
    pub const fn paper_003() -> Features {
        Features { recursion: true, conditionals: true, rd: true, ..Features::CORE }
    }

    /// The language of Huot, Staton & Vákár: functions, products, variants, lists with folds, operations.
    pub const fn paper_002() -> Features {
        Features { functions: true, variants: true, lists: true, ..Features::CORE }
    }

    /// The language of Krawiec et al.: functions, products, sums, leaf types, arrays.
    pub const fn paper_004() -> Features {
        Features {
            functions: true,
            variants: true,
            leaves: true,
            arrays: true,
            conditionals: true,
            globals: true,
            ..Features::CORE
        }
    }

    /// Everything whose derivatives are those of the function: all but `stop_gradient` and partiality.
    pub const fn smooth() -> Features {
        Features {
            leaves: true,
            records: true,
            variants: true,
            lists: true,
            arrays: true,
            polytypic: true,
            functions: true,
            recursion: true,
            loops: true,
            conditionals: true,
            rd: true,
            derivatives: true,
            stop_gradient: false,
            kinky: true,
            special: true,
            effects: true,
            globals: true,
            partial: false,
            short: false,
        }
    }

    /// Everything but partiality.
    pub const fn all() -> Features {
        Features { stop_gradient: true, ..Features::smooth() }
    }

    /// Everything but derivative terms and partiality.
    pub const fn no_derivatives() -> Features {
        Features { rd: false, derivatives: false, ..Features::smooth() }
    }

    /// The same with programs that may stop.
    pub const fn and_partial(self) -> Features {
        Features { partial: true, ..self }
    }
}
