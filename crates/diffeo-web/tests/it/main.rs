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
fn an_entry_is_run_alone_and_other_plots_are_named() {
    let text = "import plot\ndef picture = plot.hline(1.0)\ndef rows() = [picture]\ndef at(x: Real) = plot.hline(x)\ndef a = 1\ndef main = a\n";
    let of = |entry: &str| ask(&json!({ "do": "run", "text": text, "entry": entry }));
    let answer = of("");
    assert_eq!(answer["values"][0]["name"], "main", "{answer}");
    assert_eq!(answer["plots"], json!(["picture", "rows"]));
    let answer = of("rows");
    assert_eq!(answer["values"][0]["name"], "rows", "{answer}");
    assert_eq!(drawn(&answer["values"][0], "</svg>"), ["0"]);
    assert_eq!(answer["plots"], json!(["picture"]));
    assert_eq!(of("nothing")["messages"][0]["code"], "unknown-entry");
    let answer = ask(&json!({ "do": "check", "text": text }));
    let all = answer["definitions"].as_array().expect("definitions");
    let runnable = all.iter().filter(|d| d["runnable"] == true).map(|d| &d["name"]);
    assert_eq!(runnable.collect::<Vec<_>>(), ["picture", "rows", "a", "main"]);
}

/// The gradient of a definition at a point.
fn gradient(text: &str, name: &str, at: &str) -> Value {
    ask(&json!({ "do": "show", "text": text, "name": name, "form": "gradient", "at": at }))
}

#[test]
fn a_gradient_stands_beside_differences() {
    let text =
        "def f(x: Real, w: [2]Real) -> Real = x * exp(w[0]) * w[1]\ndef f_at = (2.0, [0.0, 3.0])\n";
    let answer = gradient(text, "f", "");
    let found = &answer["gradient"];
    assert_eq!(found["value"], "6.0", "{answer}");
    assert_eq!((&found["own"], &found["agrees"]), (&json!(true), &json!(true)), "{answer}");
    let rows = found["rows"].as_array().expect("rows");
    let named: Vec<(&str, f64)> = rows
        .iter()
        .map(|r| (r["name"].as_str().unwrap_or(""), r["derivatives"][0].as_f64().unwrap_or(0.0)))
        .collect();
    assert_eq!(named, [("x", 3.0), ("w[0]", 6.0), ("w[1]", 2.0)]);
    assert!(found["differences"].as_f64().is_some_and(|far| far < 1e-9), "{answer}");
    // A vector has a column for each of its numbers; a point that is not given is made up.
    let answer = gradient("def f(x: Real) = [sq(x), sin(x)]\n", "f", "");
    assert_eq!(answer["gradient"]["point"], "1.0", "{answer}");
    assert_eq!(answer["gradient"]["own"], false);
    assert_eq!(answer["gradient"]["outputs"], json!(["[0]", "[1]"]));
    assert_eq!(answer["gradient"]["rows"][0]["derivatives"], json!([2.0, 1.0f64.cos()]));
}

#[test]
fn a_gradient_that_differences_do_not_have_is_told() {
    let wrong = "def f(x: Real) = with_derivative(sq, fn (x, dx) -> (sq(x), 3.0 * x * dx))(x)\n";
    let answer = gradient(wrong, "f", "2.0");
    assert_eq!(answer["gradient"]["agrees"], false, "{answer}");
    let edge = "def f(x: Real) = if x < 1.0 then fail(\"below\") else x\n";
    let answer = gradient(edge, "f", "1.0");
    assert_eq!(answer["gradient"]["differences"], Value::Null, "{answer}");
    assert_eq!(answer["gradient"]["rows"][0]["derivatives"], json!([1.0]));
    // A point that cannot be made up, one that stops the program, and a function without Reals
    let answer = gradient("def f(m: Maybe[Real]) = from_maybe(1.0, m)\n", "f", "");
    let said = answer["messages"][0]["message"].as_str().unwrap_or_default();
    assert!(said.starts_with("this form is that of a run: at which point of `f`?"), "{answer}");
    let answer = gradient(edge, "f", "0.5");
    assert_eq!(answer["messages"][0]["code"], "fail", "{answer}");
    let answer = gradient("def f(n: Int) = n\n", "f", "1");
    assert_eq!(answer["messages"][0]["severity"], "error", "{answer}");
}

#[test]
fn words_lead_to_entries_of_the_library() {
    let answer = ask(&json!({ "do": "doc", "words": "least squares with bounds" }));
    let first = &answer["found"][0];
    assert_eq!(
        (&first["module"], &first["name"]),
        (&json!("optim"), &json!("levenberg_marquardt_between"))
    );
    assert_eq!(ask(&json!({ "do": "doc", "words": "zzzzzz" }))["found"], json!([]));
}

/// The names of the pictures of a value, each of which has a text that is looked for.
fn drawn(value: &Value, text: &str) -> Vec<String> {
    let pictures = value["pictures"].as_array().expect("pictures");
    let name = |picture: &Value| {
        let svg = picture["svg"].as_str().expect("text");
        assert!(svg.starts_with("<svg ") && svg.contains(text), "{svg}");
        picture["name"].as_str().expect("a name").to_string()
    };
    pictures.iter().map(name).collect()
}

#[test]
fn plots_are_drawn() {
    let answer = run("import plot\ndef main = plot.line([0.0, 1.0], [2.0, 3.0])\n");
    let value = &answer["values"][0];
    assert_eq!(value["text"], "<plot: line of 2 points>");
    assert_eq!(drawn(value, "width=\"640\" height=\"400\""), [""]);
    assert_eq!(answer["messages"], json!([]));

    let text = "import plot
type Report = Plain(String) | Illustrated(String, plot.Plot)
def at(y: Real) = plot.hline(y) |> plot.title(\"here\", _)
def main = {
  pair = (1.0, at(2.0)),
  all = list[at(3.0), at(4.0)],
  rows = [[at(5.0)], [at(6.0)]],
  some = Just(at(7.0)),
  report = Illustrated(\"a\", at(8.0)),
  none = Plain(\"b\")
}
";
    let answer = run(text);
    let names = drawn(&answer["values"][0], ">here<");
    let all = ["all.0", "all.1", "pair.1", "report.Illustrated.1", "rows.0.0", "rows.1.0", "some"];
    assert_eq!(names, all, "{answer}");
    let shown = answer["values"][0]["text"].as_str().expect("text");
    assert!(shown.contains("some = Just(<plot \"here\": horizontal line>)"), "{shown}");
}

#[test]
fn plots_are_as_wide_as_there_is_room() {
    let text = "import plot\ndef p = plot.hline(1.0)\ndef main = (p, plot.grid(2, [p, p]), plot.size(500, 100, p))\n";
    let request = json!({ "do": "run", "text": text, "seconds": 5.0, "room": 350 });
    let answer = ask(&request);
    let pictures = answer["values"][0]["pictures"].as_array().expect("pictures");
    let sizes: Vec<&str> = pictures
        .iter()
        .map(|p| {
            p["svg"].as_str().and_then(|svg| svg.split("viewBox=\"0 0 ").nth(1)).expect("a size")
        })
        .map(|rest| rest.split('"').next().unwrap_or_default())
        .collect();
    assert_eq!(sizes, ["350 245", "600 210", "500 100"]);
}

#[test]
fn a_plot_that_is_wrong_is_told() {
    let text = "import plot\ndef bad = plot.hline(1.0) |> plot.color(\"plaid\", _)\ndef log = [plot.line([1.0, 2.0], [-1.0, 1.0]) |> plot.log_y]\n";
    let answer = run(text);
    let message = |i: usize| answer["messages"][i]["message"].as_str().unwrap_or_default();
    assert!(message(0).starts_with("the plot `bad` cannot be drawn: layer 1 (horizontal line) has the colour \"plaid\", which is none of blue"), "{answer}");
    assert_eq!(answer["messages"][0]["severity"], "error");
    assert_eq!(answer["messages"][0]["code"], "plot");
    assert_eq!(answer["messages"][0]["range"]["start"], json!({ "line": 1, "character": 4 }));
    assert_eq!(answer["values"][0]["pictures"], json!([]));
    assert_eq!(
        message(1),
        "in the plot `log.0`, layer 1 (line): 1 of 4 numbers left out, a logarithmic axis has no place for 0 and below"
    );
    assert_eq!(drawn(&answer["values"][1], "</svg>"), ["0"]);
    let answer = run("import plot\ndef main = [plot.hline(1.0) for i < 101]\n");
    assert_eq!(answer["messages"][0]["message"], "`main` has 101 plots: the first 100 are drawn");
    assert_eq!(drawn(&answer["values"][0], "</svg>").len(), 100);
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
        json!({
            "name": "f", "type": "Real -> Real", "function": true, "runnable": false, "differentiable": true
        })
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
        let shown = match form["name"] == "gradient" {
            true => answer["gradient"].is_object(),
            false => answer["text"].as_str().is_some_and(|t| t.len() > 10),
        };
        assert!(shown, "{form}: {answer}");
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
