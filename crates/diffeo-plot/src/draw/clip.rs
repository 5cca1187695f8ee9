//! Shapes cut at the edges of the unit square, and lines thinned to what can be seen.

use crate::scene::Point;

/// The parts of a line within the unit square.
pub fn line(points: &[Point]) -> Vec<Vec<Point>> {
    let mut out: Vec<Vec<Point>> = Vec::new();
    for pair in points.windows(2) {
        let Some((from, to)) = segment(pair[0], pair[1]) else { continue };
        match out.last_mut() {
            Some(line) if line.last() == Some(&from) => line.push(to),
            _ => out.push(vec![from, to]),
        }
    }
    out
}

/// The part of a segment within the unit square (Liang and Barsky, "A New Concept and Method for Line Clipping", 1984).
fn segment((x0, y0): Point, (x1, y1): Point) -> Option<(Point, Point)> {
    let (dx, dy) = (x1 - x0, y1 - y0);
    let (mut enter, mut leave) = (0.0, 1.0);
    for (p, q) in [(-dx, x0), (dx, 1.0 - x0), (-dy, y0), (dy, 1.0 - y0)] {
        if p == 0.0 {
            if q < 0.0 {
                return None;
            }
        } else if p < 0.0 {
            enter = f64::max(enter, q / p);
        } else {
            leave = f64::min(leave, q / p);
        }
    }
    let at = |t: f64| match t {
        0.0 => (x0, y0),
        1.0 => (x1, y1),
        t => (x0 + t * dx, y0 + t * dy),
    };
    (enter <= leave).then(|| (at(enter), at(leave)))
}

/// The part of a polygon within the unit square, edge by edge (Sutherland and Hodgman, "Reentrant Polygon Clipping",
/// 1974).
pub fn area(corners: &[Point]) -> Vec<Point> {
    // How far inside a point is at each edge.
    let inside: [fn(Point) -> f64; 4] = [|p| p.0, |p| 1.0 - p.0, |p| p.1, |p| 1.0 - p.1];
    let mut corners = corners.to_vec();
    for depth in inside {
        let mut kept = Vec::with_capacity(corners.len());
        for (i, to) in corners.iter().enumerate() {
            let from = corners[(i + corners.len() - 1) % corners.len()];
            let (a, b) = (depth(from), depth(*to));
            if (a < 0.0) != (b < 0.0) {
                let t = a / (a - b);
                kept.push((from.0 + t * (to.0 - from.0), from.1 + t * (to.1 - from.1)));
            }
            if b >= 0.0 {
                kept.push(*to);
            }
        }
        corners = kept;
    }
    corners
}

/// The part of a rectangle within the unit square: its least and its largest corner.
pub fn rect(a: Point, b: Point) -> Option<(Point, Point)> {
    let low = (a.0.min(b.0).max(0.0), a.1.min(b.1).max(0.0));
    let high = (a.0.max(b.0).min(1.0), a.1.max(b.1).min(1.0));
    (low.0 <= high.0 && low.1 <= high.1).then_some((low, high))
}

/// Whether a place is within the unit square.
pub fn holds((x, y): Point) -> bool {
    let edge = 1e-9;
    x >= -edge && x <= 1.0 + edge && y >= -edge && y <= 1.0 + edge
}

/// A line in pixels without what nobody sees: of points in one half of a column of pixels, the first, the lowest, the
/// highest and the last.
pub fn thinned(points: &[Point]) -> Vec<Point> {
    if points.len() <= 4 {
        return points.to_vec();
    }
    let mut out: Vec<Point> = Vec::new();
    let column = |p: Point| (p.0 * 2.0).floor();
    let mut start = 0;
    while start < points.len() {
        let same = |p: &&Point| column(**p) == column(points[start]);
        let count = points[start..].iter().take_while(same).count().max(1);
        let run = &points[start..start + count];
        if count <= 4 {
            out.extend(run);
        } else {
            let by_height = |i: &usize, j: &usize| run[*i].1.total_cmp(&run[*j].1);
            let least = (0..count).min_by(by_height).unwrap_or(0);
            let most = (0..count).max_by(by_height).unwrap_or(0);
            let mut kept = [0, least.min(most), least.max(most), count - 1].to_vec();
            kept.dedup();
            out.extend(kept.into_iter().map(|i| run[i]));
        }
        start += count;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{area, line, thinned};

    #[test]
    fn lines_end_at_the_edges() {
        let inside = line(&[(-1.0, 0.5), (0.5, 0.5), (0.5, 2.0), (0.75, 2.0), (0.75, 0.5)]);
        let first = vec![(0.0, 0.5), (0.5, 0.5), (0.5, 1.0)];
        assert_eq!(inside, [first, vec![(0.75, 1.0), (0.75, 0.5)]]);
        assert!(line(&[(-1.0, -1.0), (-1e9, 1e9)]).is_empty());
    }

    #[test]
    fn areas_end_at_the_edges() {
        let cut = area(&[(-1.0, 0.2), (2.0, 0.2), (2.0, 0.7), (-1.0, 0.7)]);
        assert_eq!(cut, [(0.0, 0.2), (1.0, 0.2), (1.0, 0.7), (0.0, 0.7)]);
    }

    #[test]
    fn a_million_points_become_few() {
        let wave: Vec<(f64, f64)> =
            (0..1_000_000).map(|i| (f64::from(i) * 6e-4, f64::from(i).sin() * 100.0)).collect();
        let thin = thinned(&wave);
        assert!(thin.len() <= 4 * 1201, "{}", thin.len());
        assert_eq!((thin[0], thin.last()), (wave[0], wave.last()));
        let top = |points: &[(f64, f64)]| points.iter().fold(0.0, |m: f64, p| m.max(p.1));
        assert_eq!(top(&thin), top(&wave));
    }
}
