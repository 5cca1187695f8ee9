//! Tail-call elimination: calls in tail position take no memory.

use diffeo_array::opt::tail;
use diffeo_array::value::FlatValue;
use diffeo_array::{lint, parse, print, FlatEvaluator};
use diffeo_calculus::eval::Options;

const EVEN: &str = "
entry even

fn even(n: Int) -> (Bool) {
  %1: Bool = eq[Int](n, 0)
  %2: Bool = if %1 {
yield true
  } else {
%3: Int = int.sub(n, 1)
%4: Bool = call odd(%3, 2.5)
yield %4
  }
  return %2
}

fn odd(n: Int, x: Real) -> (Bool) {
  %1: Bool = switch n {
0 {
  yield false
}
else {
  %2: Int = int.sub(n, 1)
  %3: Bool = call even(%2)
  yield %3
}
  }
  return %1
}
";

const SUM: &str = "
entry sum

fn sum(n: Int, a: Int) -> (Int) {
  %1: Bool = le[Int](n, 0)
  %2: Int = if %1 {
yield a
  } else {
%3: Int = int.sub(n, 1)
%4: Int = int.add(a, n)
%5: Int = call sum(%3, %4)
yield %5
  }
  return %2
}
";

fn run(text: &str, args: &[i64], room: usize) -> Result<Vec<FlatValue>, &'static str> {
    let module = tail(parse(text).unwrap());
    assert_eq!(lint(&module), Vec::<String>::new(), "{}", print(&module));
    let options = Options { max_stack: room, ..Options::default() };
    let args = args.iter().map(|n| FlatValue::Int(*n)).collect();
    FlatEvaluator::new(module.into(), options).run(args).map_err(|e| e.kind.code())
}

#[test]
fn a_function_that_ends_with_a_call_of_itself_takes_no_memory() {
    assert_eq!(run(SUM, &[100_000, 0], 4096), Ok(vec![FlatValue::Int(5_000_050_000)]));
    assert_eq!(run(SUM, &[2, i64::MAX], 4096), Err("overflow"));
}

#[test]
fn nor_do_functions_that_end_with_calls_of_each_other() {
    assert_eq!(run(EVEN, &[100_000], 4096), Ok(vec![FlatValue::Bool(true)]));
    assert_eq!(run(EVEN, &[99_999], 4096), Ok(vec![FlatValue::Bool(false)]));
}
