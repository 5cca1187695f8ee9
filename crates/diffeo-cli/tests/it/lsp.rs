//! The language server, as editors drive it.

use crate::common::Folder;
use serde_json::{json, Value};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A server, and what it has told.
struct Client {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    told: Vec<Value>,
    next: i64,
}

impl Client {
    fn new(encodings: &[&str]) -> Client {
        let mut server = Command::new(env!("CARGO_BIN_EXE_diffeo"))
            .arg("lsp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let input = server.stdin.take().expect("its input");
        let output = BufReader::new(server.stdout.take().expect("its output"));
        let mut client = Client { server, input, output, told: Vec::new(), next: 0 };
        let general = json!({ "positionEncodings": encodings });
        let found = client.ask("initialize", json!({ "capabilities": { "general": general } }));
        assert_eq!(found["capabilities"]["hoverProvider"], true);
        client.tell("initialized", json!({}));
        client
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("it reads");
        self.input.flush().expect("it reads");
    }

    fn receive(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.output.read_line(&mut line).expect("it writes");
            match line.trim().split_once(": ") {
                Some(("Content-Length", n)) => length = n.parse().expect("a number"),
                Some(_) => {}
                None => break,
            }
        }
        let mut text = vec![0; length];
        self.output.read_exact(&mut text).expect("it writes");
        serde_json::from_slice(&text).expect("JSON")
    }

    fn tell(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// The result of a request.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    fn answer(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.receive();
            if message["id"] == id {
                return message;
            }
            self.told.push(message);
        }
    }

    fn open(&mut self, uri: &str, text: &str) -> Vec<Value> {
        let document = json!({ "uri": uri, "languageId": "diffeo", "version": 1, "text": text });
        self.tell("textDocument/didOpen", json!({ "textDocument": document }));
        self.diagnostics(uri)
    }

    fn change(&mut self, uri: &str, version: i64, text: &str) -> Vec<Value> {
        let document = json!({ "uri": uri, "version": version });
        let changes = json!([{ "text": text }]);
        self.tell(
            "textDocument/didChange",
            json!({ "textDocument": document, "contentChanges": changes }),
        );
        self.diagnostics(uri)
    }

    /// The latest diagnostics of a document. A request is answered after all notifications before it, so one is sent to
    /// wait for them.
    fn diagnostics(&mut self, uri: &str) -> Vec<Value> {
        self.told.clear();
        self.ask("workspace/symbol", json!({ "query": "" }));
        let mut own = self.told.iter().filter(|m| m["params"]["uri"] == uri);
        own.next_back().map_or(Vec::new(), |m| {
            m["params"]["diagnostics"].as_array().cloned().unwrap_or_default()
        })
    }

    fn at(&mut self, what: &str, uri: &str, line: usize, character: usize) -> Value {
        let params = json!({
            "textDocument": { "uri": uri },
            "position": { "line": line, "character": character },
            "newName": "renamed",
            "context": { "includeDeclaration": true },
        });
        self.ask(&format!("textDocument/{what}"), params)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

const TEXT: &str = "import stats
## The sum of squares.
def squares(xs: [n]Real) -> Real = sum([x * x for x in xs])
def twice(a: Real) = let b = a + a in squares([b, a])
def k = 3.5
";

#[test]
fn fields_keep_their_names_when_variables_are_renamed() {
    let mut client = Client::new(&["utf-8"]);
    let uri = "untitled:a";
    let text = "def f({x, \"a b\" = y}: {x: Real, \"a b\": Real}) = {x, y = x * y}\n";
    assert_eq!(client.open(uri, text), Vec::<Value>::new());
    let edits = client.at("rename", uri, 0, text.find("x * y").expect("a use"));
    let edits = edits["changes"][uri].as_array().expect("edits");
    let texts: Vec<&str> = edits.iter().filter_map(|edit| edit["newText"].as_str()).collect();
    assert_eq!(texts, ["x = renamed", "x = renamed", "renamed"]);
    let hover = client.at("hover", uri, 0, 4);
    assert!(
        hover["contents"]["value"].as_str().is_some_and(|t| t.contains("\"a b\": Real")),
        "{hover}"
    );
}

#[test]
fn sizes_that_are_variables_are_renamed_with_them() {
    let mut client = Client::new(&["utf-8"]);
    let uri = "untitled:a";
    let text = "def f(n: Int, xs: [n]Real) -> [n]Real = take(n, xs)\n";
    assert_eq!(client.open(uri, text), Vec::<Value>::new());
    for at in [text.find("n: Int"), text.find("n]Real)"), text.find("n, xs)")] {
        let edits = client.at("rename", uri, 0, at.expect("a use"));
        assert_eq!(edits["changes"][uri].as_array().map(Vec::len), Some(4), "{edits}");
    }
}

#[test]
fn names_of_other_files_are_not_renamed() {
    let folder = Folder::new().with("lib.deo", "def own = 1.0\n").with("main.deo", "");
    let uri = format!("file://{}/main.deo", folder.0.display());
    let mut client = Client::new(&["utf-8"]);
    let text = "import lib\nimport stats (variance)\ndef f = variance([lib.own, sin(1.0)])\n";
    assert_eq!(client.open(&uri, text), Vec::<Value>::new());
    for (character, file) in [(9, "std/stats.deo"), (24, "lib.deo"), (28, "std/prelude.deo")] {
        assert_eq!(client.at("prepareRename", &uri, 2, character), Value::Null);
        let asked = json!({
            "textDocument": { "uri": uri },
            "position": { "line": 2, "character": character },
            "newName": "other",
        });
        let refused = client.answer("textDocument/rename", asked)["error"]["message"].clone();
        let message = refused.as_str().expect("a message");
        assert!(message.contains(file) && message.contains("renamed there"), "{message}");
    }
}

#[test]
fn types_definitions_and_uses() {
    let mut client = Client::new(&["utf-8"]);
    let uri = "untitled:a";
    assert_eq!(client.open(uri, TEXT), Vec::<Value>::new());
    let hover = client.at("hover", uri, 3, 40);
    let hover = hover["contents"]["value"].as_str().expect("a text");
    assert!(
        hover.contains("squares : [n]Real -> Real") && hover.contains("The sum of squares."),
        "{hover}"
    );
    let hover = client.at("hover", uri, 3, 25);
    assert!(hover["contents"]["value"].as_str().is_some_and(|t| t.contains("b : Real")), "{hover}");
    let uses = client.at("references", uri, 3, 47);
    assert_eq!(uses.as_array().map(Vec::len), Some(2), "{uses}");
    let edits = client.at("rename", uri, 2, 5);
    assert_eq!(edits["changes"][uri].as_array().map(Vec::len), Some(2), "{edits}");
    let symbols = client.at("documentSymbol", uri, 0, 0);
    let names: Vec<&str> =
        symbols.as_array().expect("symbols").iter().filter_map(|s| s["name"].as_str()).collect();
    assert_eq!(names, ["squares", "twice", "k"]);
    let hints = client.at("inlayHint", uri, 0, 0);
    assert_eq!(hints[0]["label"], ": Real");
    let lenses = client.at("codeLens", uri, 0, 0);
    assert_eq!(lenses.as_array().map(Vec::len), Some(4));
    let help = client.at("signatureHelp", uri, 3, 46);
    assert!(
        help["signatures"][0]["label"].as_str().is_some_and(|t| t.starts_with("squares")),
        "{help}"
    );
}

#[test]
fn completion_knows_names_in_scope_and_members() {
    let mut client = Client::new(&[]);
    let uri = "untitled:a";
    client.open(uri, &format!("{TEXT}def z(own: Real) = ow\ndef y = stats.mea\n"));
    let labels = |found: &Value| -> Vec<String> {
        let items = found["items"].as_array().expect("items").iter();
        items.filter_map(|i| i["label"].as_str().map(str::to_string)).collect()
    };
    let names = labels(&client.at("completion", uri, 5, 21));
    for name in ["own", "squares", "twice", "sum", "sin", "stats", "Just", "Maybe"] {
        assert!(names.iter().any(|n| n == name), "{name}: {names:?}");
    }
    assert!(!names.iter().any(|n| n == "xs"), "{names:?}");
    let members = labels(&client.at("completion", uri, 6, 17));
    assert!(
        members.iter().any(|n| n == "variance") && !members.iter().any(|n| n == "sin"),
        "{members:?}"
    );
}

#[test]
fn diagnostics_follow_the_text_and_offer_changes() {
    let mut client = Client::new(&["utf-16"]);
    let uri = "untitled:a";
    let found = client.open(uri, "def f(x: Real) = sqr(x) + y\ndef g = \"😀\" + 1\n");
    let codes: Vec<&Value> = found.iter().map(|d| &d["code"]).collect();
    let expected = ["unknown-name", "unknown-name", "type-mismatch", "type-mismatch"];
    assert_eq!(codes, expected, "{found:?}");
    // A column counts units of UTF-16: the face is two.
    assert_eq!(found[2]["range"]["start"], json!({ "line": 1, "character": 13 }), "{found:?}");
    let range = found[0]["range"].clone();
    let params =
        json!({ "textDocument": { "uri": uri }, "range": range, "context": { "diagnostics": [] } });
    let actions = client.ask("textDocument/codeAction", params);
    let edit = &actions[0]["edit"]["changes"][uri][0];
    assert!(edit["newText"].as_str().is_some_and(|t| t == "sqrt" || t == "sq"), "{actions}");
    assert_eq!(client.change(uri, 2, "def f(x: Real) = sqrt(x)\n"), Vec::<Value>::new());
    // An import goes after those that there are.
    let text = "# sums\nimport text\n\ndef f(x: Real) = variance([x, 1.0])\n";
    let found = client.change(uri, 3, text);
    let wrong = found.iter().find(|d| d["code"] == "unknown-name").expect("it is not imported");
    let params = json!({
        "textDocument": { "uri": uri }, "range": wrong["range"], "context": { "diagnostics": [] },
    });
    let edit = client.ask("textDocument/codeAction", params)[0]["edit"]["changes"][uri][0].clone();
    assert_eq!(edit["newText"], "import stats (variance)\n", "{wrong}");
    assert_eq!(edit["range"]["start"], json!({ "line": 2, "character": 0 }));
    // Texts that are being typed.
    for (i, text) in ["def", "def f(", "def f(x = [", "", "import", "def f(x: Real) = x.", "\u{0}("]
        .iter()
        .enumerate()
    {
        client.change(uri, 4 + i as i64, text);
        for what in [
            "hover",
            "completion",
            "definition",
            "documentSymbol",
            "signatureHelp",
            "formatting",
            "foldingRange",
        ] {
            client.at(what, uri, 0, 6);
            client.at(what, uri, 9, 99);
        }
    }
}

#[test]
fn open_texts_count_for_those_that_import_them() {
    let folder = Folder::new().with("lib.deo", "def old = 1.0\n").with("main.deo", "");
    let uri = |name: &str| format!("file://{}", folder.0.join(name).display());
    let mut client = Client::new(&[]);
    let found = client.open(&uri("main.deo"), "import lib\ndef f = lib.new\n");
    assert_eq!(found.len(), 1, "{found:?}");
    client.open(&uri("lib.deo"), "def new = 2.0\n");
    client.told.clear();
    assert_eq!(
        client.change(&uri("main.deo"), 2, "import lib\ndef f = lib.new\n"),
        Vec::<Value>::new()
    );
    let place = client.at("definition", &uri("main.deo"), 1, 13);
    assert!(place["uri"].as_str().is_some_and(|u| u.ends_with("lib.deo")), "{place}");
}

#[test]
fn a_module_beside_a_text_hides_that_of_the_library() {
    let folder = Folder::new().with("stats.deo", "def own = 1.0\n").with("main.deo", "");
    let uri = format!("file://{}/main.deo", folder.0.display());
    let mut client = Client::new(&[]);
    let text = "import stats\ndef f = stats.variance([1.0, 2.0])\n";
    assert_eq!(client.open("untitled:a", text), Vec::<Value>::new());
    let found = client.open(&uri, &text.replace("variance([1.0, 2.0])", "own + stats.variance"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["range"]["start"], json!({ "line": 1, "character": 26 }), "{found:?}");
}

#[test]
fn formatting_and_the_end() {
    let mut client = Client::new(&[]);
    let uri = "untitled:a";
    client.open(uri, "def f(x:Real)=x+1.0\n");
    let edits = client.at("formatting", uri, 0, 0);
    assert_eq!(edits[0]["newText"], "def f(x: Real) = x + 1.0\n");
    assert_eq!(client.answer("textDocument/unheardOf", json!({}))["error"]["code"], -32601);
    let refused = json!({
        "textDocument": { "uri": uri }, "position": { "line": 0, "character": 4 }, "newName": "Not a name",
    });
    assert!(client.answer("textDocument/rename", refused)["error"]["message"].is_string());
    client.ask("shutdown", Value::Null);
    client.tell("exit", Value::Null);
    assert!(client.server.wait().expect("it ends").success());
}
