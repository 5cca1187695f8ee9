//! The summands of Faà di Bruno's formula: partitions, their numbers, and the paper's second order.

use diffeo_papers::jet::faa_di_bruno::{summands, Power, Product, Summand};

fn products(alpha: &[u32], n: usize) -> Vec<Product> {
    summands(alpha, n).into_iter().flat_map(|s| s.products).collect()
}

#[test]
fn there_is_a_product_for_each_partition() {
    // The partitions of the number n.
    let partitions = [1, 2, 3, 5, 7, 11, 15, 22, 30, 42];
    for (order, count) in (1..).zip(partitions) {
        assert_eq!(products(&[order], 1).len(), count, "{order}");
    }
    // The partitions of n into parts of two kinds, for an operation of two operands.
    let two_kinds = [2, 5, 10, 20, 36, 65, 110, 185];
    for (order, count) in (1..).zip(two_kinds) {
        assert_eq!(products(&[order], 2).len(), count, "{order}");
    }
    // The partitions of the pair (m, n), and of a set of n.
    for (alpha, count) in [([1, 1], 2), ([2, 1], 4), ([2, 2], 9), ([3, 1], 7), ([3, 3], 31)] {
        assert_eq!(products(&alpha, 1).len(), count, "{alpha:?}");
    }
    assert_eq!(products(&[1, 1, 1], 1).len(), 5);
    assert_eq!(products(&[1, 1, 1, 1], 1).len(), 15);
}

#[test]
fn the_coefficients_count_the_partitions_of_a_set() {
    // Bell's numbers, and Stirling's of the second kind for each |β|.
    let bell = [1.0, 2.0, 5.0, 15.0, 52.0, 203.0, 877.0, 4140.0, 21147.0, 115975.0];
    for (order, count) in (1..).zip(bell) {
        let sum: f64 = products(&[order], 1).iter().map(|p| p.coefficient).sum();
        assert_eq!(sum, count, "{order}");
    }
    let by_blocks: Vec<f64> =
        summands(&[5], 1).iter().map(|s| s.products.iter().map(|p| p.coefficient).sum()).collect();
    assert_eq!(by_blocks, [1.0, 15.0, 25.0, 10.0, 1.0]);
    // However the elements are told apart.
    for alpha in [&[3, 2][..], &[2, 2, 1], &[1, 1, 1, 1, 1]] {
        let sum: f64 = products(alpha, 1).iter().map(|p| p.coefficient).sum();
        assert_eq!(sum, 52.0, "{alpha:?}");
    }
}

#[test]
fn second_order_is_as_printed_in_the_paper() {
    // (∂_ĵ g · ∂²f_j) and (∂_{ĵ,ĵ′} g · ∂₁f_j · ∂₂f_j′), section 2.3.
    let power =
        |operand, alpha: [u32; 2], exponent| Power { operand, alpha: alpha.to_vec(), exponent };
    let one = |powers| Product { coefficient: 1.0, powers };
    let (f01, f10) = (|j| power(j, [0, 1], 1), |j| power(j, [1, 0], 1));
    let expected = [
        (vec![0, 1], vec![one(vec![power(1, [1, 1], 1)])]),
        (vec![0, 2], vec![one(vec![f01(1), f10(1)])]),
        (vec![1, 0], vec![one(vec![power(0, [1, 1], 1)])]),
        (vec![1, 1], vec![one(vec![f01(1), f10(0)]), one(vec![f01(0), f10(1)])]),
        (vec![2, 0], vec![one(vec![f01(0), f10(0)])]),
    ];
    let expected = expected.map(|(beta, products)| Summand { beta, products });
    assert_eq!(summands(&[1, 1], 2), expected);
}
