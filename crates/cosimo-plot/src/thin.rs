//! Fewer points for the same picture: of all points in one pixel column, the first, the lowest, the highest
//! and the last. Works on pixels, after the axes have had their say.

/// A place on the panel in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Dot {
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// The line does not reach this point from the one before.
    pub(crate) apart: bool,
}

/// Points per pixel column above which thinning begins; below it, the picture is exact anyway.
const DENSE: usize = 4;
/// Points per pixel column that may be left: a curve that runs to and fro visits columns many times.
const LEFT: usize = 8;
/// Dots closer than this, in pixels, cover each other.
const CELL: f64 = 3.0;

/// Thins a line on a panel of the given width.
pub(crate) fn line(dots: Vec<Dot>, width: f64) -> Vec<Dot> {
    let columns = width.ceil().max(1.0) as usize;
    if dots.len() <= DENSE * columns {
        return dots;
    }
    let mut thinned = Vec::new();
    for group in dots.chunk_by(|a, b| a.x.floor() == b.x.floor()) {
        // A gap inside a column is narrower than the pen: only the gap before the group stays.
        let mut kept = extremes(group, |dot| [dot.y, dot.y]);
        kept.iter_mut().for_each(|dot| dot.apart = false);
        kept[0].apart = group[0].apart;
        thinned.append(&mut kept);
    }
    if thinned.len() <= LEFT * columns {
        return thinned;
    }
    // Not a function of x. Extremes in both directions of equal shares of the curve keep its outline.
    let share = dots.len().div_ceil(LEFT * columns / 6);
    dots.chunks(share).flat_map(|group| extremes(group, |dot| [dot.x, dot.y])).collect()
}

/// Thins a cloud of dots: one per small cell, and the outermost four.
pub(crate) fn cloud(dots: Vec<Dot>, width: f64, height: f64) -> Vec<Dot> {
    if dots.len() <= DENSE * width.ceil().max(1.0) as usize {
        return dots;
    }
    let (columns, rows) = ((width / CELL).ceil() as usize + 1, (height / CELL).ceil() as usize + 1);
    let mut taken = vec![false; columns * rows];
    let outermost = extremes(&dots, |dot| [dot.x, dot.y]);
    let mut kept: Vec<Dot> = Vec::new();
    for dot in dots {
        // Casts saturate: what lies outside the limits falls into the cells at the edge, outside the clip.
        let (column, row) = ((dot.x / CELL) as usize, (dot.y / CELL) as usize);
        let cell = &mut taken[row.min(rows - 1) * columns + column.min(columns - 1)];
        if !*cell {
            *cell = true;
            kept.push(dot);
        }
    }
    kept.extend(outermost);
    kept
}

/// First, last and the extremes by both keys, in the order in which they came.
fn extremes(group: &[Dot], keys: impl Fn(&Dot) -> [f64; 2]) -> Vec<Dot> {
    let mut chosen = [0, 0, 0, 0, 0, group.len() - 1];
    for (index, dot) in group.iter().enumerate() {
        let keys_here = keys(dot);
        for axis in 0..2 {
            if keys_here[axis] < keys(&group[chosen[2 * axis + 1]])[axis] {
                chosen[2 * axis + 1] = index;
            }
            if keys_here[axis] > keys(&group[chosen[2 * axis + 2]])[axis] {
                chosen[2 * axis + 2] = index;
            }
        }
    }
    chosen.sort_unstable();
    let mut kept = Vec::with_capacity(6);
    let mut next = 0;
    for index in chosen {
        if index < next {
            continue; // the same point, chosen twice
        }
        // A gap anywhere since the last kept point must not be bridged.
        let apart = group[next..=index].iter().any(|dot| dot.apart);
        kept.push(Dot { apart, ..group[index] });
        next = index + 1;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use cosimo_core::math;

    fn dots(points: impl Iterator<Item = (f64, f64)>) -> Vec<Dot> {
        points.enumerate().map(|(index, (x, y))| Dot { x, y, apart: index == 0 }).collect()
    }

    #[test]
    fn short_lines_are_left_alone() {
        let line_of_four = dots((0..400).map(|i| (f64::from(i) / 4.0, f64::from(i % 7))));
        assert_eq!(line(line_of_four.clone(), 100.0), line_of_four);
    }

    #[test]
    fn a_single_spike_survives() {
        for spike in [1, 77_777, 123_456, 999_998] {
            let many =
                dots((0..1_000_000).map(|i| (f64::from(i) / 1e4, if i == spike { -40.0 } else { 3.0 })));
            let few = line(many, 100.0);
            assert!(few.len() <= 400, "{}", few.len());
            assert_eq!(few.iter().filter(|dot| dot.y == -40.0).count(), 1);
        }
    }

    #[test]
    fn first_and_last_points_survive_and_order_is_kept() {
        let many = dots((0..10_000).map(|i| (f64::from(i) / 100.0, math::sin(f64::from(i)))));
        let few = line(many.clone(), 100.0);
        assert_eq!((few.first(), few.last()), (many.first(), many.last()));
        assert!(few.windows(2).all(|pair| pair[0].x < pair[1].x));
    }

    #[test]
    fn gaps_between_columns_stay() {
        let mut many = dots((0..10_000).map(|i| (f64::from(i) / 100.0, 0.0)));
        many[5_000].apart = true;
        let apart: Vec<f64> = line(many, 100.0).iter().filter(|dot| dot.apart).map(|dot| dot.x).collect();
        assert_eq!(apart, [0.0, 50.0]);
    }

    #[test]
    fn curves_to_and_fro_are_bounded_and_keep_their_outline() {
        let many = dots((0..1_000_000).map(|i| {
            let angle = f64::from(i) * 1.3;
            (50.0 + 49.0 * math::cos(angle), 50.0 + 49.0 * math::sin(angle))
        }));
        let few = line(many, 100.0);
        assert!(few.len() <= 900, "{}", few.len());
        assert!(few.iter().any(|dot| dot.x > 98.999) && few.iter().any(|dot| dot.y < 1.001));
    }

    #[test]
    fn clouds_keep_their_outermost_dots() {
        let many =
            dots((0..100_000).map(|i| (f64::from(i * 7 % 1000) / 10.0, f64::from(i * 13 % 997) / 10.0)));
        let few = cloud(many, 100.0, 100.0);
        assert!(few.len() <= 34 * 35 + 6, "{}", few.len());
        assert!(few.iter().any(|dot| dot.y == 99.6) && few.iter().any(|dot| dot.x == 99.9));
    }
}
