//! The bounds on a run hold while functions are translated, which a program may want without end.

use diffeo_calculus::eval::error::ErrorKind;
use diffeo_calculus::eval::{Exceeded, Limits, Options};
use diffeo_calculus::parse;
use diffeo_calculus::term::GlobalId;
use diffeo_papers::engine::{machine, TranslatingEngine};
use diffeo_papers::Delta;
use std::time::Duration;

/// Each call takes a derivative of the next: translations of translations, each several times as long.
const NESTED: &str = "
    def f : (Int, Real) -> Real = fn (p : (Int, Real)) ->
      let x : Real = proj[(Int, Real), 1](p) in
      if #eq[Int](proj[(Int, Real), 0](p), 0) then #real.mul(x, x) else
      #rd[Real, Real](
        fn (y : Real) ->
          #real.mul(@f tuple[(Int, Real)](#int.sub(proj[(Int, Real), 0](p), 1), y), y),
        x, 1.0)
    def main : Real = @f tuple[(Int, Real)](40, 1.0)";

const ENGINES: [TranslatingEngine; 3] = [
    TranslatingEngine::Dual,
    TranslatingEngine::Taylor,
    TranslatingEngine::Delta(Delta { arrays: true, split: false }),
];

#[test]
fn translating_ends_when_its_time_is_up() {
    let program = parse(NESTED).expect("a program");
    let time = Duration::from_millis(500);
    for engine in ENGINES {
        let options = Options { limits: Limits::after(time), ..Options::default() };
        let error = machine(&program, engine, options).eval_global(GlobalId(1));
        let error = error.expect_err("it has no end");
        let bound = ErrorKind::Exceeded(Exceeded::Time(time)).code();
        assert_eq!(error.kind.code(), bound, "{engine:?}: {error:?}");
    }
}
