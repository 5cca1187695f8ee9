//! Every kernel on small data: C (where there is a compiler), Rust and every engine give the same numbers.

use diffeo_bench::c::{CCompiler, Style};
use diffeo_bench::suite::Suite;
use diffeo_bench::{derivatives, engines, kernels};
use std::time::Duration;

#[test]
fn results_are_equal() {
    let compiler = CCompiler::find();
    if let Err(error) = &compiler {
        println!("{error}: the engines are compared with one another only");
    }
    let suite = Suite {
        compiler: compiler.ok(),
        engines: engines::all(),
        libraries: Vec::new(),
        gradbench: None,
        budget: Duration::ZERO,
        quick: true,
        peaks: false,
    };
    let mut failures = Vec::new();
    for kernel in kernels::ALL {
        for case in (kernel.cases)(true) {
            let (called, failed) = suite.called(&kernel, &case);
            let styles = Style::ALL.iter().filter(|style| CCompiler::has(&kernel, **style)).count();
            let wanted = suite.engines.len()
                + if suite.compiler.is_some() { styles } else { 0 }
                + usize::from(kernel.rust.is_some());
            for (name, error) in &failed {
                failures.push(format!("{} {}, {name}: {error}", kernel.name, case.label));
            }
            assert_eq!(called.len() + failed.len(), wanted, "{} {}", kernel.name, case.label);
            for runner in &called {
                let result = runner.runner.prepared.result();
                assert_eq!(result.len(), case.results, "{} {}", kernel.name, case.label);
                assert!(result.iter().all(|x| x.is_finite()), "{} {}", kernel.name, case.label);
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn derivatives_by_several_ways_are_equal_and_all_kernels_have_gradients() {
    let engines = engines::all();
    let jit = engines.iter().find(|engine| engine.name() == "jit").expect("an engine");
    let orders = derivatives::orders(&**jit, true, Duration::ZERO);
    let orders = orders.unwrap_or_else(|e| panic!("{e}"));
    assert!(orders.iter().all(|costs| costs.ratios.len() == 14), "ten orders, four nested");
    for kernel in kernels::ALL.into_iter().filter(|kernel| !kernel.parameters.is_empty()) {
        let case = (kernel.cases)(true).swap_remove(0);
        let costs = derivatives::gradient(&kernel, &case, &**jit, Duration::ZERO);
        let costs = costs.unwrap_or_else(|e| panic!("{}: {e}", kernel.name));
        assert_eq!(costs.ratios.len(), 1, "{}", kernel.name);
    }
}
