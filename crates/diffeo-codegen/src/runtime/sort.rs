//! Stable sorting permutations.

use std::slice;

/// How many bits a digit of a key has.
const DIGIT: u32 = 11;
const DIGITS: usize = 1 << DIGIT;

/// So many bits more than the indices have are looked at first.
const SPARE: u32 = 12;

/// Shorter arrays are sorted by comparing: counting digits takes longer.
const SHORT: usize = 512;

/// Room for so many elements, if there is memory for it.
fn room<T>(length: usize) -> Option<Vec<T>> {
    let mut room = Vec::new();
    room.try_reserve_exact(length).ok().map(|()| room)
}

/// Writes the stable sorting permutation of keys. Without memory for the pairs, which are faster to sort, the
/// indices are sorted by looking the keys up.
pub(super) fn sort<K: Ord + Copy>(length: usize, key: impl Fn(usize) -> K, to: &mut [i64]) {
    match room::<(K, usize)>(length) {
        Some(mut pairs) => {
            pairs.extend((0..length).map(|i| (key(i), i)));
            pairs.sort_unstable();
            to.iter_mut().zip(pairs).for_each(|(to, (_, i))| *to = i as i64);
        }
        None => {
            to.iter_mut().zip(0..).for_each(|(to, i)| *to = i);
            to.sort_unstable_by_key(|i| (key(*i as usize), *i));
        }
    }
}

/// As [`sort`], of numbers: by their digits, the last first (Knuth, *The Art of Computer Programming*, 5.2.5).
/// A word is the first digits of a key, less the smallest one, and the index in its last bits. Keys that are equal in
/// as many digits as tell most of so many keys apart are sorted by themselves in the end.
pub(super) fn sort_numbers(length: usize, key: impl Fn(usize) -> u64, to: &mut [i64]) {
    let suits = (SHORT..u32::MAX as usize).contains(&length);
    let words = if suits { room::<i64>(length) } else { None };
    let Some(mut words) = words else { return sort(length, key, to) };
    let (mut least, mut most, mut sorted, mut last) = (u64::MAX, 0, true, 0);
    for (i, to) in to.iter_mut().enumerate() {
        let key = key(i);
        sorted &= last <= key;
        (least, most, last) = (least.min(key), most.max(key), key);
        *to = key as i64;
    }
    if sorted {
        return to.iter_mut().zip(0..).for_each(|(to, i)| *to = i);
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
    words.extend(to.iter().zip(0..).map(|(key, i): (&i64, i64)| {
        let word = ((*key as u64 - least) >> dropped << index) as i64 | i;
        for (pass, counts) in counts.iter_mut().enumerate() {
            counts[digit(word, pass)] += 1;
        }
        word
    }));
    for (pass, counts) in counts.iter_mut().enumerate() {
        let mut place = 0;
        for count in counts.iter_mut() {
            place += std::mem::replace(count, place);
        }
        let (from, into) =
            if pass % 2 == 0 { (&words[..], &mut *to) } else { (&*to, &mut words[..]) };
        for word in from {
            let place = &mut counts[digit(*word, pass)];
            into[*place as usize] = *word;
            *place += 1;
        }
    }
    if passes % 2 == 0 {
        to.copy_from_slice(&words);
    }
    drop(words);
    let mut start = 0;
    let mut before = to[0] as u64 >> index;
    for i in 0..length {
        let found = to[i] as u64 >> index;
        to[i] &= (1 << index) - 1;
        if dropped > 0 && found != before {
            order(&mut to[start..i], &key);
            (start, before) = (i, found);
        }
    }
    if dropped > 0 {
        order(&mut to[start..], &key);
    }
}

/// Sorts indices, which rise, by their keys, stably.
fn order(indices: &mut [i64], key: &dyn Fn(usize) -> u64) {
    if indices.len() < SHORT {
        return indices.sort_unstable_by_key(|i| (key(*i as usize), *i));
    }
    let mut sorted = vec![0; indices.len()];
    sort_numbers(indices.len(), |i| key(indices[i] as usize), &mut sorted);
    sorted.iter_mut().for_each(|i| *i = indices[*i as usize]);
    indices.copy_from_slice(&sorted);
}

/// A Real as a number in the same order; both zeros are equal, and nan comes last.
pub(super) fn real_key(x: f64) -> u64 {
    // -0.0 + 0.0 is 0.0.
    let bits = (x + 0.0).to_bits();
    let key = bits ^ ((bits as i64 >> 63) as u64 | 1 << 63);
    if x.is_nan() {
        u64::MAX
    } else {
        key
    }
}

/// An Int as a number in the same order.
pub(super) fn int_key(n: i64) -> u64 {
    n as u64 ^ 1 << 63
}

/// The keys of an array and the indices to write, which are new memory.
///
/// # Safety
/// There are so many keys, and room for as many indices.
pub(super) unsafe fn parts<'a, T>(
    data: *const T,
    length: i64,
    to: *mut i64,
) -> (&'a [T], &'a mut [i64]) {
    let Ok(length @ 1..) = usize::try_from(length) else { return (&[], &mut []) };
    // SAFETY: by the condition of the function; the new memory is written before it is read.
    unsafe {
        to.write_bytes(0, length);
        (slice::from_raw_parts(data, length), slice::from_raw_parts_mut(to, length))
    }
}

#[cfg(test)]
mod tests {
    use super::{int_key, real_key, sort, sort_numbers, SHORT};
    use std::cmp::Ordering;

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

    #[test]
    fn the_permutation_is_stable() {
        let keys = [2.0, 1.0, f64::NAN, 1.0, -0.0, 0.0, f64::NAN, -3.0];
        let mut to = [0; 8];
        sort(keys.len(), |i| real_key(keys[i]), &mut to);
        assert_eq!(to, [7, 4, 5, 1, 3, 0, 2, 6]);
    }

    #[test]
    fn digits_and_comparisons_agree() {
        // Few different numbers, many, sorted ones, and none at all.
        for spread in [1, 7, 1 << 20, 1 << 58, u64::MAX] {
            for length in [0, 1, SHORT - 1, SHORT, 3 * SHORT + 1] {
                let mut state = 1u64;
                let keys: Vec<u64> = (0..length)
                    .map(|_| {
                        state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
                        // Some differ in their last bits only.
                        (state ^ state >> 29) % spread >> (state >> 60) << (state >> 60)
                    })
                    .collect();
                let (mut digits, mut compared) = (vec![0; length], vec![0; length]);
                sort_numbers(length, |i| keys[i], &mut digits);
                sort(length, |i| keys[i], &mut compared);
                assert_eq!(digits, compared);
                let ordered = |i: usize| keys[compared[i] as usize];
                let mut again = vec![0; length];
                sort_numbers(length, ordered, &mut again);
                assert!(again.iter().zip(0..).all(|(a, b)| *a == b));
            }
        }
    }
}
