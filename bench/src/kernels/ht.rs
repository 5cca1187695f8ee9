//! Hand tracking.

use crate::case::OwnedValue;
use crate::case::{CaseArray, Kernel, KernelCase};
use crate::kernels::small::derivative;
use crate::random::Random;

/// The distances of the measured points.
pub const HT: Kernel = Kernel {
    name: "ht",
    program: "examples/gradbench/ht.deo",
    entry: "objective",
    argument,
    parameters: &["theta", "us"],
    rust: None,
    cases,
};

derivative! {
    /// Their Jacobian.
    JACOBIAN "ht_jacobian" HT "jacobian", |case: &KernelCase| {
        let columns = if case.reals("us").is_empty() { 26 } else { 28 };
        case.reals("points").len() * columns
    }
}

const BONES: usize = 22;

fn cases(quick: bool) -> Vec<KernelCase> {
    if quick {
        return vec![
            case("simple n=7", 7, 40, 30, false),
            case("complicated n=7", 7, 40, 30, true),
        ];
    }
    vec![
        case("simple small n=100", 100, 544, 1_084, false),
        case("complicated small n=100", 100, 544, 1_084, true),
        case("complicated big n=6400", 6_400, 10_000, 1_084, true),
    ]
}

type Matrix = [[f64; 4]; 4];

fn multiply(a: &Matrix, b: &Matrix) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| (0..4).map(|k| a[i][k] * b[k][j]).sum()))
}

/// A turn about z and a shift.
fn rigid(angle: f64, shift: &[f64]) -> Matrix {
    let (s, c) = angle.sin_cos();
    [[c, -s, 0.0, shift[0]], [s, c, 0.0, shift[1]], [0.0, 0.0, 1.0, shift[2]], [0.0, 0.0, 0.0, 1.0]]
}

/// The inverse of a turn and a shift.
fn inverse(a: &Matrix) -> Matrix {
    let shift = |i: usize| -(0..3).map(|k| a[k][i] * a[k][3]).sum::<f64>();
    let row = |i: usize| [a[0][i], a[1][i], a[2][i], shift(i)];
    [row(0), row(1), row(2), [0.0, 0.0, 0.0, 1.0]]
}

/// A hand of a wrist, five fingers of four bones and a forearm. Each vertex follows four bones; as in ADBench's
/// larger hand, the triangles lie on its first 544 vertices.
fn case(
    label: &str,
    n: usize,
    vertices: usize,
    triangles: usize,
    on_triangles: bool,
) -> KernelCase {
    let mut random = Random::new(3);
    let (mut parents, mut relatives, mut inverses) = (Vec::new(), Vec::new(), Vec::new());
    let mut absolutes: Vec<Matrix> = Vec::new();
    for bone in 0..BONES {
        let parent = match bone {
            0 => None,
            bone if bone % 4 == 1 => Some(0),
            bone => Some(bone - 1),
        };
        let relative = rigid(random.between(-0.3, 0.3, 1)[0], &random.between(-1.0, 1.0, 3));
        let absolute = parent.map_or(relative, |p| multiply(&absolutes[p], &relative));
        parents.push(parent.map_or(-1, |p| p as i64));
        relatives.extend(relative.into_iter().flatten());
        inverses.extend(inverse(&absolute).into_iter().flatten());
        absolutes.push(absolute);
    }
    let mut positions = Vec::with_capacity(4 * vertices);
    let mut weights = vec![0.0; vertices * BONES];
    for vertex in 0..vertices {
        positions.extend(random.between(-3.0, 3.0, 3));
        positions.push(1.0);
        for _ in 0..4 {
            weights[vertex * BONES + random.below(BONES) as usize] += 0.25;
        }
    }
    let corners = vertices.min(544);
    let targets = if on_triangles { triangles } else { vertices };
    let us = if on_triangles { n } else { 0 };
    let arrays = vec![
        CaseArray::reals("theta", &[26], random.between(-0.5, 0.5, 26)),
        CaseArray::reals("us", &[us, 2], random.between(0.0, 0.5, 2 * us)),
        CaseArray::ints("parents", &[BONES], parents),
        CaseArray::reals("base_relatives", &[BONES, 4, 4], relatives),
        CaseArray::reals("inverse_base_absolutes", &[BONES, 4, 4], inverses),
        CaseArray::reals("positions", &[vertices, 4], positions),
        CaseArray::reals("weights", &[vertices, BONES], weights),
        CaseArray::ints(
            "triangles",
            &[triangles, 3],
            (0..3 * triangles).map(|_| random.below(corners)).collect(),
        ),
        CaseArray::ints("mirrored", &[], vec![1]),
        CaseArray::ints("correspondences", &[n], (0..n).map(|_| random.below(targets)).collect()),
        CaseArray::reals("points", &[n, 3], random.between(-3.0, 3.0, 3 * n)),
    ];
    let sizes = [n, BONES, vertices, triangles, usize::from(on_triangles)];
    KernelCase {
        label: label.into(),
        sizes: sizes.map(|s| s as i64).to_vec(),
        arrays,
        results: 3 * n,
    }
}

fn argument(case: &KernelCase) -> OwnedValue {
    let model = [
        ("parents", "parents"),
        ("base_relatives", "base_relatives"),
        ("inverse_base_absolutes", "inverse_base_absolutes"),
        ("base_positions", "positions"),
        ("weights", "weights"),
        ("triangles", "triangles"),
    ];
    let model = model.into_iter().map(|(field, name)| (field, case.array(name).value()));
    let mirrored: OwnedValue = (case.ints("mirrored")[0] != 0).into();
    let data = OwnedValue::record([
        ("model", OwnedValue::record(model.chain([("is_mirrored", mirrored)]))),
        ("correspondences", case.array("correspondences").value()),
        ("points", case.array("points").value()),
    ]);
    let (theta, us) = (case.array("theta").value(), case.array("us").value());
    OwnedValue::record([("theta", theta), ("us", us), ("data", data)])
}
