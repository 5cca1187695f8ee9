//! The requests of the playground, on this machine; `web/test` has them in WebAssembly and in a browser.

use diffeo_web::{Engine, Host};
use serde_json::{json, Value};
use std::time::{SystemTime, UNIX_EPOCH};

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

fn ask(request: &Value) -> Value {
    let mut engine = Engine::new(Host { now, memory: || 0, tell: |_| {} });
    serde_json::from_str(&engine.answer(&request.to_string())).expect("JSON")
}

fn run(text: &str) -> Value {
    ask(&json!({ "do": "run", "text": text, "seconds": 0.5, "bytes": 1 << 30 }))
}

#[test]
fn main_or_each_constant_is_evaluated() {
    let answer = run("def a = 2 + 3\ndef f(x: Real) = x\ndef b = [[1.0, 2.0], [3.0, 4.0]]\n");
    let values = answer["values"].as_array().expect("values");
    assert_eq!(values.len(), 2, "{answer}");
    assert_eq!(
        (&values[0]["name"], &values[0]["text"], &values[0]["type"]),
        (&json!("a"), &json!("5"), &json!("Int"))
    );
    assert_eq!(values[1]["table"]["rows"], json!([["1.0", "2.0"], ["3.0", "4.0"]]));
    let answer = run("def a = 1\ndef main() = a + 1\n");
    assert_eq!(answer["values"][0]["text"], "2");
    assert_eq!(answer["values"].as_array().map(Vec::len), Some(1));
    assert_eq!(answer["messages"], json!([]));
}

#[test]
fn what_is_wrong_has_its_place() {
    let answer = run("def main = grad(fn x -> y)(1.0)\n");
    assert_eq!(answer["messages"][0]["code"], "unknown-name");
    assert_eq!(answer["messages"][0]["range"]["start"], json!({ "line": 0, "character": 24 }));
    let answer = run("def main({x}: {x: Real}) = x\n");
    assert_eq!(answer["messages"][0]["code"], "parameters");
    let answer = run("def spin(x: Real) -> Real = spin(x + 1.0)\ndef main = spin(0.0)\n");
    assert_eq!(answer["messages"][0]["code"], "timeout");
    assert!(
        answer["messages"][0]["message"].as_str().is_some_and(|m| m.contains("0.5 s")),
        "{answer}"
    );
    let text = "import optim\ndef main = optim.gradient_descent_with(\n  {optim.gradient_descent_options with max_iterations = 2}, fn x -> cosh(x), 1.0).iterations\n";
    let answer = run(text);
    assert_eq!(answer["messages"][0]["code"], "not-converged", "{answer}");
    assert_eq!(answer["messages"][0]["range"]["start"], json!({ "line": 1, "character": 11 }));
    assert_eq!(answer["lines"], json!([]));
}

#[test]
fn a_definition_is_checked_laid_out_and_asked_about() {
    let text = "def  f(x:Real)=x*x";
    let answer = ask(&json!({ "do": "format", "text": text }));
    assert_eq!(answer["text"], "def f(x: Real) = x * x\n");
    assert_eq!(ask(&json!({ "do": "format", "text": "def f(" }))["text"], Value::Null);
    let answer = ask(&json!({ "do": "check", "text": text }));
    assert_eq!(
        answer["definitions"][0],
        json!({ "name": "f", "type": "Real -> Real", "function": true })
    );
    let position = json!({ "position": { "line": 0, "character": 5 } });
    let answer = ask(
        &json!({ "do": "lsp", "text": text, "method": "textDocument/hover", "params": position }),
    );
    assert!(
        answer["result"]["contents"]["value"]
            .as_str()
            .is_some_and(|t| t.contains("f : Real -> Real")),
        "{answer}"
    );
    assert!(ask(&json!({ "do": "fly", "text": "" }))["error"].is_string());
    let mut engine = Engine::new(Host { now, memory: || 0, tell: |_| {} });
    assert!(engine.answer("{").contains("not JSON"));
}

#[test]
fn every_form_is_shown() {
    let text = "def f(x: Real, y: Real) -> Real = x * sin(y)\ndef f_at = (2.0, 0.5)\n";
    let forms = ask(&json!({ "do": "forms" }))["forms"].clone();
    for form in forms.as_array().expect("forms") {
        let request = json!({ "do": "show", "text": text, "name": "f", "form": form["name"] });
        let answer = ask(&request);
        assert_eq!(answer["messages"], json!([]), "{form}: {answer}");
        assert!(answer["text"].as_str().is_some_and(|t| t.len() > 10), "{form}: {answer}");
    }
    let show = |form: &str, at: &str| {
        ask(
            &json!({ "do": "show", "text": "def g(x: Real) = x * x", "name": "g", "form": form, "at": at }),
        )
    };
    let answer = show("trace", "");
    assert!(
        answer["messages"][0]["message"].as_str().is_some_and(|m| m.contains("g_at")),
        "{answer}"
    );
    assert_eq!(show("trace", "\"a\"")["messages"][0]["code"], "point-type");
    assert_eq!(show("trace", "1.0 +")["text"], Value::Null);
}

#[test]
fn the_graph_of_a_delta_has_the_derivatives() {
    let text = "def f(x: Real, y: Real) -> Real = let z = x * y in z * z + sin(x)";
    let request =
        json!({ "do": "show", "text": text, "name": "f", "form": "graph", "at": "(2.0, 3.0)" });
    let graph = ask(&request)["graph"].clone();
    let derivative = |name: &str| {
        let nodes = graph["nodes"].as_array().expect("nodes");
        nodes.iter().find(|n| n["name"] == name).and_then(|n| n["derivative"].as_f64()).expect(name)
    };
    // By x: 2 x y² + cos x; by y: 2 x² y.
    assert!((derivative("x") - (36.0 + 2.0_f64.cos())).abs() < 1e-12, "{graph}");
    assert!((derivative("y") - 24.0).abs() < 1e-12, "{graph}");
    assert_eq!(derivative("result"), 1.0);
}
