//! Hand tracking.

use crate::case::Value;
use crate::case::{Array, Case, Data, Kernel};
use crate::random::Random;

/// The distances of the measured points.
pub const HT: Kernel =
    Kernel { name: "ht", argument, parameters: &["theta", "us"], rust: None, cases };

const BONES: usize = 22;

fn cases(quick: bool) -> Vec<Case> {
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
fn case(label: &str, n: usize, vertices: usize, triangles: usize, on_triangles: bool) -> Case {
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
        Array::reals("theta", &[26], random.between(-0.5, 0.5, 26)),
        Array::reals("us", &[us, 2], random.between(0.0, 0.5, 2 * us)),
        Array::ints("parents", &[BONES], parents),
        Array::reals("base_relatives", &[BONES, 4, 4], relatives),
        Array::reals("inverse_base_absolutes", &[BONES, 4, 4], inverses),
        Array::reals("positions", &[vertices, 4], positions),
        Array::reals("weights", &[vertices, BONES], weights),
        Array::ints(
            "triangles",
            &[triangles, 3],
            (0..3 * triangles).map(|_| random.below(corners)).collect(),
        ),
        Array::ints("mirrored", &[], vec![1]),
        Array::ints("correspondences", &[n], (0..n).map(|_| random.below(targets)).collect()),
        Array::reals("points", &[n, 3], random.between(-3.0, 3.0, 3 * n)),
    ];
    let sizes = [n, BONES, vertices, triangles, usize::from(on_triangles)];
    Case { label: label.into(), sizes: sizes.map(|s| s as i64).to_vec(), arrays, results: 3 * n }
}

fn argument(case: &Case) -> Value {
    let matrices = |name: &'static str| {
        let matrix =
            |m: &[f64]| Array { name, shape: vec![4, 4], data: Data::Reals(m.to_vec()) }.value();
        case.reals(name).chunks(16).map(matrix).collect::<Vec<Value>>()
    };
    let bones = case
        .ints("parents")
        .iter()
        .zip(matrices("base_relatives"))
        .zip(matrices("inverse_base_absolutes"));
    let bones = bones.map(|((parent, relative), inverse)| {
        Value::record([
            ("parent", (*parent).into()),
            ("base_relative", relative),
            ("inverse_base_absolute", inverse),
        ])
    });
    let model = Value::record([
        ("bones", Value::Array(bones.collect())),
        ("positions", case.array("positions").value()),
        ("weights", case.array("weights").value()),
        (
            "triangles",
            Value::Array(
                case.ints("triangles")
                    .chunks(3)
                    .map(|t| Value::Tuple(t.iter().map(|v| Value::Int(*v)).collect()))
                    .collect(),
            ),
        ),
        ("mirrored", (case.ints("mirrored")[0] != 0).into()),
    ]);
    let point =
        |p: &[f64]| Value::record([("x", p[0].into()), ("y", p[1].into()), ("z", p[2].into())]);
    let us = case.reals("us").chunks(2).map(|u| Value::Tuple(vec![u[0].into(), u[1].into()]));
    Value::record([
        ("theta", case.array("theta").value()),
        ("us", Value::Array(us.collect())),
        ("model", model),
        ("correspondences", case.array("correspondences").value()),
        ("points", Value::Array(case.reals("points").chunks(3).map(point).collect())),
    ])
}
