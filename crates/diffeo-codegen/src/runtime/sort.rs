//! Stable sorting permutations.

use std::mem::MaybeUninit;
use std::slice;

/// How many bits a digit of a key has.
const DIGIT: u32 = 13;
const DIGITS: usize = 1 << DIGIT;

/// So many bits more than the indices have are looked at first.
const SPARE: u32 = 16;

/// Shorter arrays are sorted by comparing: counting digits takes longer.
const SHORT: usize = 512;

/// Room for so many elements, if there is memory for it.
fn room<T>(length: usize) -> Option<Vec<T>> {
    let mut room = Vec::new();
    room.try_reserve_exact(length).ok().map(|()| room)
}

/// Fills new memory; gives what was filled.
fn fill(to: &mut [MaybeUninit<i64>], values: impl Iterator<Item = i64>) -> &mut [i64] {
    let mut filled = 0;
    for (to, value) in to.iter_mut().zip(values) {
        to.write(value);
        filled += 1;
    }
    // SAFETY: so many were written, from the first on; such a slice has the layout of a slice of numbers.
    unsafe { &mut *(&raw mut to[..filled] as *mut [i64]) }
}

/// So many elements are sorted between two polls.
const POLLED: usize = 1 << 18;

/// Whether the run is to end.
pub(super) type Stop<'a> = &'a dyn Fn() -> bool;

/// Writes the stable sorting permutation of keys, or some permutation if the run is to end. Without memory for the pairs, which are faster to sort, the
/// indices are sorted by looking the keys up.
pub(super) fn sort<K: Ord + Copy>(
    length: usize,
    key: impl Fn(usize) -> K,
    to: &mut [MaybeUninit<i64>],
    stop: Stop<'_>,
) {
    match room::<(K, usize)>(length) {
        Some(mut pairs) => {
            pairs.extend((0..length).map(|i| (key(i), i)));
            by_halves(&mut pairs, |pair| *pair, stop);
            fill(to, pairs.into_iter().map(|(_, i)| i as i64));
        }
        None => {
            by_halves(fill(to, 0..length as i64), |i| (key(*i as usize), *i), stop);
        }
    }
}

/// Sorts by keys, all different: parts by themselves, which are told apart by their medians first.
fn by_halves<T, K: Ord>(all: &mut [T], key: impl Fn(&T) -> K + Copy, stop: Stop<'_>) {
    if all.len() <= POLLED {
        all.sort_unstable_by_key(key);
    } else if !stop() {
        let (before, _, behind) = all.select_nth_unstable_by_key(all.len() / 2, key);
        by_halves(before, key, stop);
        by_halves(behind, key, stop);
    }
}

/// As [`sort`], of numbers: by their digits, the last first (Knuth, *The Art of Computer Programming*, 5.2.5).
/// A word is the first digits of a key, less the smallest one, and the index in its last bits. Keys that are equal in
/// as many digits as tell most of so many keys apart are sorted by themselves in the end.
pub(super) fn sort_numbers(
    length: usize,
    key: impl Fn(usize) -> u64,
    to: &mut [MaybeUninit<i64>],
    stop: Stop<'_>,
) {
    let suits = (SHORT..u32::MAX as usize).contains(&length);
    let words = if suits { room::<i64>(length) } else { None };
    let Some(mut words) = words else { return sort(length, key, to, stop) };
    let (mut least, mut most, mut sorted, mut last) = (u64::MAX, 0, true, 0);
    words.extend((0..length).map(|i| {
        let key = key(i);
        sorted &= last <= key;
        (least, most, last) = (least.min(key), most.max(key), key);
        key as i64
    }));
    if sorted {
        fill(to, 0..length as i64);
        return;
    }
    let bits = |n: u64| u64::BITS - n.leading_zeros();
    let (spread, index) = (bits(most - least), bits(length as u64 - 1));
    let passes = (index + SPARE).div_ceil(DIGIT).min(spread.div_ceil(DIGIT));
    let dropped = spread.saturating_sub((passes * DIGIT).min(u64::BITS - index));
    let digit = |word: i64, pass: usize| {
        (word as u64 >> (index + pass as u32 * DIGIT)) as usize & (DIGITS - 1)
    };
    let passes = passes as usize;
    let mut counts = vec![[0u32; DIGITS]; passes];
    let packed = words.iter().zip(0..).map(|(key, i): (&i64, i64)| {
        let word = ((*key as u64 - least) >> dropped << index) as i64 | i;
        for (pass, counts) in counts.iter_mut().enumerate() {
            counts[digit(word, pass)] += 1;
        }
        word
    });
    let to = fill(to, packed);
    for (pass, counts) in counts.iter_mut().enumerate() {
        let mut place = 0;
        for count in counts.iter_mut() {
            place += std::mem::replace(count, place);
        }
        let (from, into) =
            if pass.is_multiple_of(2) { (&*to, &mut words[..]) } else { (&words[..], &mut *to) };
        for part in from.chunks(POLLED) {
            if stop() {
                return to.iter_mut().zip(0..).for_each(|(to, i)| *to = i);
            }
            for word in part {
                let place = &mut counts[digit(*word, pass)];
                into[*place as usize] = *word;
                *place += 1;
            }
        }
    }
    let (mut start, mut before) = (0, None);
    for i in 0..length {
        let word = if !passes.is_multiple_of(2) { words[i] } else { to[i] };
        to[i] = word & ((1 << index) - 1);
        let digits = Some(word as u64 >> index);
        if digits != before {
            order(&mut to[start..i], dropped, &key, stop);
            (start, before) = (i, digits);
        }
    }
    order(&mut to[start..], dropped, &key, stop);
}

/// Sorts indices, which rise, by their keys, stably, if digits of the keys were dropped.
fn order(indices: &mut [i64], dropped: u32, key: &dyn Fn(usize) -> u64, stop: Stop<'_>) {
    if dropped == 0 || indices.len() < 2 {
        return;
    }
    if indices.len() < SHORT {
        return indices.sort_unstable_by_key(|i| (key(*i as usize), *i));
    }
    let mut sorted = vec![MaybeUninit::uninit(); indices.len()];
    sort_numbers(indices.len(), |i| key(indices[i] as usize), &mut sorted, stop);
    // SAFETY: all of it was written.
    let sorted = sorted.into_iter().map(|i| unsafe { i.assume_init() });
    let sorted: Vec<i64> = sorted.map(|i| indices[i as usize]).collect();
    indices.copy_from_slice(&sorted);
}

/// A Real as a number in the same order; both zeros are equal, and nan comes last.
pub(super) fn real_key(x: f64) -> u64 {
    // -0.0 + 0.0 is 0.0.
    let bits = (x + 0.0).to_bits();
    let key = bits ^ ((bits as i64 >> 63) as u64 | (1 << 63));
    if x.is_nan() {
        u64::MAX
    } else {
        key
    }
}

/// An Int as a number in the same order.
pub(super) fn int_key(n: i64) -> u64 {
    n as u64 ^ (1 << 63)
}

/// The keys of an array, and where the indices go.
///
/// # Safety
/// There are so many keys, and room for as many indices.
pub(super) unsafe fn parts<'a, T>(
    data: *const T,
    length: i64,
    to: *mut i64,
) -> (&'a [T], &'a mut [MaybeUninit<i64>]) {
    let Ok(length @ 1..) = usize::try_from(length) else { return (&[], &mut []) };
    // SAFETY: by the condition of the function.
    unsafe { (slice::from_raw_parts(data, length), slice::from_raw_parts_mut(to.cast(), length)) }
}

#[cfg(test)]
mod tests {
    use super::{int_key, real_key, sort, sort_numbers, Stop, POLLED, SHORT};
    use std::cell::Cell;
    use std::cmp::Ordering;
    use std::mem::MaybeUninit;

    #[test]
    fn keys_order_reals_with_nan_last() {
        let xs =
            [f64::NEG_INFINITY, -1e300, -1.0, -5e-324, 0.0, 5e-324, 1.0, f64::INFINITY, f64::NAN];
        for (i, x) in xs.iter().enumerate() {
            for (j, y) in xs.iter().enumerate() {
                assert_eq!(real_key(*x).cmp(&real_key(*y)), i.cmp(&j), "{x} {y}");
            }
        }
        assert_eq!(real_key(-0.0).cmp(&real_key(0.0)), Ordering::Equal);
        assert_eq!(real_key(-f64::NAN).cmp(&real_key(f64::NAN)), Ordering::Equal);
    }

    #[test]
    fn keys_order_ints() {
        let ns = [i64::MIN, -1, 0, 1, i64::MAX];
        assert!(ns.windows(2).all(|pair| int_key(pair[0]) < int_key(pair[1])));
    }

    /// Nobody ends the run.
    const GOES_ON: Stop<'_> = &|| false;

    #[test]
    fn what_is_ended_is_a_permutation() {
        for length in [3 * POLLED, SHORT + 1] {
            for polls in [0, 1, 2, 3] {
                let keys: Vec<u64> =
                    (0..length as u64).map(|i| i.wrapping_mul(6364136223846793005)).collect();
                for by_digits in [true, false] {
                    let left = Cell::new(polls);
                    let stop = || left.replace((left.get() - 1).max(0)) == 0;
                    let mut to = permutation(length, |to| match by_digits {
                        true => sort_numbers(length, |i| keys[i], to, &stop),
                        false => sort(length, |i| keys[i], to, &stop),
                    });
                    to.sort_unstable();
                    assert!(to.iter().zip(0..).all(|(a, b)| *a == b), "{length} {polls}");
                }
            }
        }
    }

    /// The permutation that a function writes.
    fn permutation(length: usize, sort: impl FnOnce(&mut [MaybeUninit<i64>])) -> Vec<i64> {
        let mut to = vec![MaybeUninit::new(-1); length];
        sort(&mut to);
        // SAFETY: they were numbers before.
        to.into_iter().map(|i| unsafe { i.assume_init() }).collect()
    }

    #[test]
    fn the_permutation_is_stable() {
        let keys = [2.0, 1.0, f64::NAN, 1.0, -0.0, 0.0, f64::NAN, -3.0];
        let to = permutation(8, |to| sort(8, |i| real_key(keys[i]), to, GOES_ON));
        assert_eq!(to, [7, 4, 5, 1, 3, 0, 2, 6]);
    }

    #[test]
    fn digits_and_comparisons_agree() {
        // Few different numbers, many, some that differ in their last bits only, with one far away or not.
        for (spread, far) in [(1, 0), (7, 0), (1 << 20, 1 << 63), (1 << 58, 0), (u64::MAX, 0)] {
            for length in [0, 1, SHORT - 1, SHORT, 3 * SHORT + 1, 20 * SHORT] {
                let mut state = 1u64;
                let mut keys: Vec<u64> = (0..length)
                    .map(|_| {
                        state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
                        ((state ^ (state >> 29)) % spread) >> (state >> 60) << (state >> 60)
                    })
                    .collect();
                keys.extend((far > 0).then_some(far));
                let length = keys.len();
                let digits =
                    permutation(length, |to| sort_numbers(length, |i| keys[i], to, GOES_ON));
                let compared = permutation(length, |to| sort(length, |i| keys[i], to, GOES_ON));
                assert_eq!(digits, compared);
                let ordered = |i: usize| keys[compared[i] as usize];
                let again = permutation(length, |to| sort_numbers(length, ordered, to, GOES_ON));
                assert!(again.iter().zip(0..).all(|(a, b)| *a == b));
            }
        }
    }
}
