//! Semantic tokens and selection ranges; the protocol itself is tested with the program, in `diffeo-cli`.

use diffeo_ide::Server;
use serde_json::{json, Value};

const TEXT: &str = "import stats
type Shape = Dot | Circle(Real)
def area(s: Shape) -> Real = case s of { Dot -> 0.0 | Circle(r) -> pi * sq(r) }
def k = {size = 3.5}
def all(xs: [n]Real, f: Real -> a) = stats.variance([f(x) for x in xs] |> fn ys -> xs) + k.size
";

fn server(text: &str) -> Server {
    let mut server = Server::new(false);
    let document = json!({ "uri": "untitled:a", "version": 1, "text": text });
    server.note("textDocument/didOpen", &json!({ "textDocument": document }));
    server
}

fn ask(server: &mut Server, method: &str, more: Value) -> Value {
    let mut params = more;
    params["textDocument"] = json!({ "uri": "untitled:a" });
    server.answer(&format!("textDocument/{method}"), &params).expect("an answer")
}

/// The tokens with their texts, kinds and modifiers.
fn tokens(text: &str, answer: &Value, legend: &Value) -> Vec<(String, String, Vec<String>)> {
    let numbers: Vec<usize> = answer["data"]
        .as_array()
        .expect("numbers")
        .iter()
        .map(|n| n.as_u64().expect("a number") as usize)
        .collect();
    let lines: Vec<Vec<u16>> = text.lines().map(|line| line.encode_utf16().collect()).collect();
    let (mut line, mut column) = (0, 0);
    let mut all = Vec::new();
    for token in numbers.chunks(5) {
        column = if token[0] == 0 { column + token[1] } else { token[1] };
        line += token[0];
        let word = String::from_utf16_lossy(&lines[line][column..column + token[2]]);
        let kind = legend["tokenTypes"][token[3]].as_str().expect("a kind").to_string();
        let names = legend["tokenModifiers"].as_array().expect("names").iter().enumerate();
        let set = names.filter(|(i, _)| token[4] >> i & 1 == 1);
        all.push((word, kind, set.map(|(_, n)| n.as_str().expect("a name").to_string()).collect()));
    }
    all
}

#[test]
fn tokens_say_what_names_stand_for() {
    let mut server = server(TEXT);
    let legend = server.capabilities()["semanticTokensProvider"]["legend"].clone();
    let answer = ask(&mut server, "semanticTokens/full", json!({}));
    let found = tokens(TEXT, &answer, &legend);
    let shown: Vec<String> =
        found.iter().map(|(word, kind, set)| format!("{word}:{kind}:{}", set.join(","))).collect();
    for expected in [
        "stats:namespace:",
        "Shape:type:",
        "Circle:enumMember:",
        "area:function:declaration",
        "s:variable:declaration",
        "r:variable:",
        "pi:variable:readonly,defaultLibrary",
        "sq:function:defaultLibrary",
        "k:variable:declaration,readonly",
        "size:property:",
        "n:parameter:",
        "a:typeParameter:",
        "variance:function:defaultLibrary",
        "f:function:declaration",
        "f:function:",
        "xs:variable:",
        "k:variable:readonly",
    ] {
        assert!(shown.iter().any(|token| token == expected), "{expected}: {shown:#?}");
    }
    // Those of a part are the same ones.
    let range =
        json!({ "start": { "line": 3, "character": 0 }, "end": { "line": 4, "character": 0 } });
    let part = ask(&mut server, "semanticTokens/range", json!({ "range": range }));
    let part = tokens(TEXT, &part, &legend);
    let words: Vec<&str> = part.iter().map(|(word, ..)| word.as_str()).collect();
    assert_eq!(words, ["k", "size"]);
}

#[test]
fn tokens_of_texts_with_errors_are_in_order() {
    for text in [
        "def f(x: Real) = x.",
        "def f(",
        "type T = A(",
        "def 😀 = \"😀\" ++ y",
        "def f(x) = (stats.\n  no(x))",
    ] {
        let mut server = server(text);
        let legend = server.capabilities()["semanticTokensProvider"]["legend"].clone();
        let answer = ask(&mut server, "semanticTokens/full", json!({}));
        // Their places are within the text, or this panics.
        tokens(text, &answer, &legend);
    }
}

#[test]
fn selections_grow_from_a_name_to_the_text() {
    let mut server = server(TEXT);
    let position = json!({ "line": 2, "character": 72 });
    let answer = ask(&mut server, "selectionRange", json!({ "positions": [position] }));
    let lines: Vec<&str> = TEXT.lines().collect();
    let mut shown = Vec::new();
    let mut part = &answer[0];
    while part.is_object() {
        let at =
            |end: &str, field: &str| part["range"][end][field].as_u64().expect("a number") as usize;
        if at("start", "line") == at("end", "line") {
            let line = lines[at("start", "line")];
            shown.push(line[at("start", "character")..at("end", "character")].to_string());
        } else {
            shown.push("…".to_string());
        }
        part = &part["parent"];
    }
    assert_eq!(
        shown,
        [
            "sq",
            "sq(r)",
            "pi * sq(r)",
            "case s of { Dot -> 0.0 | Circle(r) -> pi * sq(r) }",
            "def area(s: Shape) -> Real = case s of { Dot -> 0.0 | Circle(r) -> pi * sq(r) }",
            "…",
        ]
    );
}

/// The text of an address after changes, laid out.
fn edited(utf8: bool, text: &str, changes: Value) -> String {
    let mut server = Server::new(utf8);
    let document = json!({ "uri": "untitled:a", "version": 1, "text": text });
    server.note("textDocument/didOpen", &json!({ "textDocument": document }));
    let document = json!({ "uri": "untitled:a", "version": 2 });
    let params = json!({ "textDocument": document, "contentChanges": changes });
    let told = server.note("textDocument/didChange", &params);
    assert_eq!((&told[0]["version"], &told[0]["diagnostics"]), (&json!(2), &json!([])), "{told:?}");
    let answer = ask(&mut server, "formatting", json!({}));
    answer[0]["newText"].as_str().expect("it is laid out anew").to_string()
}

fn change(from: (usize, usize), to: (usize, usize), text: &str) -> Value {
    let at = |(line, character)| json!({ "line": line, "character": character });
    json!({ "range": { "start": at(from), "end": at(to) }, "text": text })
}

#[test]
fn changes_are_of_ranges_one_after_the_other() {
    let text = "def a  = 1\r\ndef b = \"😀\" ++ \"é\"\r\ndef c = 3";
    let b = "def b = \"😀\" ++ \"é\"\n";
    // Each change is of the text that the ones before it leave.
    let changes = json!([change((0, 4), (0, 5), "first"), change((0, 11), (0, 12), "= 2 +")]);
    assert_eq!(edited(false, text, changes), format!("def first = 2 + 1\n{b}def c = 3\n"));
    // Columns count units of UTF-16, or bytes.
    let plus = "def b = \"😀\" ++ \"z\" ++ \"é\"\n";
    for (utf8, column) in [(false, 13), (true, 15)] {
        let changes = json!([change((1, column), (1, column), "++ \"z\" ")]);
        assert_eq!(edited(utf8, text, changes), format!("def a = 1\n{plus}def c = 3\n"));
    }
    // A column beyond its line means the end of the line, before the line feed; a line beyond the text, the end of the
    // text.
    let changes = json!([change((0, 99), (0, 99), "0"), change((99, 0), (99, 0), "1")]);
    assert_eq!(edited(false, text, changes), format!("def a = 10\n{b}def c = 31\n"));
    let changes = json!([change((0, 9), (2, 0), "2\n")]);
    assert_eq!(edited(false, text, changes), "def a = 2\ndef c = 3\n");
    // The whole text, then a range of the new one.
    let changes = json!([{ "text": "def  d = 4\n" }, change((0, 9), (0, 10), "5")]);
    assert_eq!(edited(false, text, changes), "def d = 5\n");
}

#[test]
fn modules_that_another_text_imports_are_none_of_this_one() {
    let mut server = server("import stats\nimport plot\ndef a = stats.variance([1.0, 2.0])\n");
    let text = "def b = variance([1.0, 2.0])\ndef c = plot.line\n";
    let document = json!({ "uri": "untitled:b", "version": 1, "text": text });
    let told = server.note("textDocument/didOpen", &json!({ "textDocument": document }));
    let of = |uri: &str| told.iter().find(|told| told["uri"] == uri).expect("messages");
    assert_eq!(of("untitled:a")["diagnostics"], json!([]));
    let mut alone = Server::new(false);
    let fresh = alone.note("textDocument/didOpen", &json!({ "textDocument": document }));
    assert_eq!(of("untitled:b"), &fresh[0]);
    let found = fresh[0]["diagnostics"].as_array().expect("messages");
    assert_eq!(found.len(), 2, "{fresh:?}");
    assert!(found[0]["message"].as_str().is_some_and(|m| m.contains("import stats (variance)")));
}
