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
fn functions_of_reals_to_reals_have_lenses() {
    let mut client = Client::new(&[]);
    let uri = "untitled:a";
    let text = "type Realm = North | South\n\
                type Shape = Square(Real) | Pair(Shape, Shape)\n\
                def area(r: Realm) -> Int = 1\n\
                def side(s: Shape) -> Real = 1.0\n\
                def count(s: Shape) -> Int = 1\n\
                def name(x: Real) -> String = \"Real\"\n\
                def twice(x) = x + x\n\
                def each({xs}: {xs: [n]Real}) = {ys = [2.0 * x for x in xs]}\n";
    client.open(uri, text);
    let lenses = client.at("codeLens", uri, 0, 0);
    let names: Vec<&str> = lenses
        .as_array()
        .expect("lenses")
        .iter()
        .filter(|lens| lens["command"]["command"] == "diffeo.checkDerivative")
        .filter_map(|lens| lens["command"]["arguments"][1].as_str())
        .collect();
    assert_eq!(names, ["side", "twice", "each"]);
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

impl Client {
    /// Sends what may be no message; the answer to nothing that follows, with the id null.
    fn send_raw(&mut self, bytes: &[u8]) -> Value {
        self.input.write_all(bytes).and_then(|()| self.input.flush()).expect("it reads");
        loop {
            let message = self.receive();
            if message.get("error").is_some() {
                return message;
            }
        }
    }

    fn goes_on(&mut self, after: &str) {
        let uri = "untitled:goes-on";
        let found = self.open(uri, "def f(x: Real) = y\n");
        assert_eq!(found.len(), 1, "after {after}: {found:?}");
    }
}

fn framed(text: impl AsRef<[u8]>) -> Vec<u8> {
    let text = text.as_ref();
    [format!("Content-Length: {}\r\n\r\n", text.len()).as_bytes(), text].concat()
}

#[test]
fn what_is_no_message_is_answered_and_the_server_goes_on() {
    let mut client = Client::new(&[]);
    let hover = r#"{"jsonrpc":"2.0","id":77,"method":"textDocument/hover","params""#;
    let document = r#""textDocument":{"uri":"untitled:goes-on"}"#;
    for (bytes, code) in [
        (b"Content-Length: 99999999999999\r\n\r\n{}".to_vec(), -32700),
        (b"Content-Length: 18446744073709551615\r\n\r\n{}".to_vec(), -32700),
        (b"Content-Length: 184467440737095516150\r\n\r\n{}".to_vec(), -32700),
        (b"Content-Length: -5\r\n\r\n{}".to_vec(), -32700),
        (b"{\"jsonrpc\":\"2.0\"}\n".to_vec(), -32700),
        (b"Content-Type: text\r\n\r\n".to_vec(), -32700),
        (b"\xff\xfe\xff\n".to_vec(), -32700),
        (framed(b"\xff\xfe"), -32700),
        (framed(""), -32700),
        (framed("{"), -32700),
        (framed(format!("{}{}", "[".repeat(100_000), "]".repeat(100_000))), -32700),
        (framed("[]"), -32600),
        (framed("null"), -32600),
        (framed("{}"), -32600),
        (framed(r#"{"jsonrpc":"2.0","id":1}"#), -32600),
        (framed(r#"{"jsonrpc":"2.0","id":1,"method":3}"#), -32600),
        (framed(r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#), -32600),
        (framed(r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#), -32600),
        (framed(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#), -32600),
        (framed(r#"{"jsonrpc":"2.0","id":1,"method":"textDocument/none","params":{}}"#), -32601),
        (framed(r#"{"jsonrpc":"2.0","id":1,"method":"$/x"}"#), -32601),
        (framed(format!("{hover}:[1]}}")), -32602),
        (framed(format!("{hover}:7}}")), -32602),
        (framed(format!("{hover}:{{}}}}")), -32602),
        (framed(format!("{hover}:{{\"textDocument\":{{\"uri\":5}}}}}}")), -32602),
        (framed(format!("{hover}:{{{document}}}}}")), -32602),
        (framed(format!("{hover}:{{{document},\"position\":\"top\"}}}}")), -32602),
        (
            framed(format!(
                "{hover}:{{{document},\"position\":{{\"line\":-1,\"character\":0}}}}}}"
            )),
            -32602,
        ),
        (
            framed(format!(
                "{hover}:{{{document},\"position\":{{\"line\":0.5,\"character\":0}}}}}}"
            )),
            -32602,
        ),
    ] {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned();
        let answer = client.send_raw(&bytes);
        assert_eq!(answer["error"]["code"], code, "{shown}: {answer}");
        assert!(answer["error"]["message"].is_string(), "{answer}");
        client.goes_on(&shown);
    }
    // Answers and notifications have no answer, whatever is in them.
    for text in [
        r#"{"jsonrpc":"2.0","id":9,"result":null}"#,
        r#"{"jsonrpc":"2.0","method":"textDocument/didOpen","params":[]}"#,
        r#"{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":1}}}"#,
        r#"{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"untitled:b","text":[]}}}"#,
        r#"{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"untitled:goes-on","version":"x"},"contentChanges":[{"text":1},2,{"text":"","range":{"start":5}}]}}"#,
        r#"{"jsonrpc":"2.0","method":"textDocument/didClose","params":{"textDocument":{"uri":"untitled:none"}}}"#,
        r#"{"jsonrpc":"2.0","method":"unheardOf"}"#,
    ] {
        client.input.write_all(&framed(text)).expect("it reads");
        client.goes_on(text);
    }
    // Requests of one id are answered one by one.
    let twice =
        framed(r#"{"jsonrpc":"2.0","id":"a","method":"workspace/symbol","params":{"query":"f"}}"#);
    client.input.write_all(&[&twice[..], &twice[..]].concat()).expect("it reads");
    let answers: Vec<Value> = (0..2).map(|_| client.receive()).collect();
    assert!(answers.iter().all(|a| a["id"] == "a" && a["result"].is_array()), "{answers:?}");
    client.goes_on("requests of one id");
}

#[test]
fn requests_have_their_time() {
    let start = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_diffeo"));
        let mut server = command
            .arg("lsp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let input = server.stdin.take().expect("its input");
        let output = BufReader::new(server.stdout.take().expect("its output"));
        Client { server, input, output, told: Vec::new(), next: 0 }
    };
    let mut client = start();
    assert_eq!(client.answer("textDocument/hover", json!({}))["error"]["code"], -32002);
    client.tell("textDocument/didOpen", json!({}));
    assert!(client.answer("initialize", json!({}))["result"]["capabilities"].is_object());
    client.goes_on("requests before `initialize`");
    client.ask("shutdown", Value::Null);
    assert_eq!(client.answer("workspace/symbol", json!({}))["error"]["code"], -32600);
    client.tell("exit", Value::Null);
    assert!(client.server.wait().expect("it ends").success());
    // Without `shutdown` it has not ended well.
    let mut client = start();
    client.tell("exit", Value::Null);
    assert!(!client.server.wait().expect("it ends").success());
}

/// The most memory that a process had, in bytes.
#[cfg(target_os = "linux")]
fn most_memory(process: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches("kB").trim().parse::<usize>().expect("a number") << 10
}

#[cfg(target_os = "linux")]
#[test]
fn types_that_double_with_each_line_take_no_more_memory_than_others() {
    let doubling = |first: &str, next: &dyn Fn(usize) -> String, n: usize| {
        let lines = (1..=n).map(|i| format!("{}\n", next(i)));
        format!("{first}\n{}", lines.collect::<String>())
    };
    let aliases = doubling("type T0 = Real", &|i| format!("type T{i} = (T{0}, T{0})", i - 1), 42);
    let lets = (1..=42).map(|i| format!("let x{i} = (x{0}, x{0}) in ", i - 1)).collect::<String>();
    let uri = "untitled:doubling";
    for (text, errors) in [
        (format!("{aliases}def f(x: T42) = x\ndef g(x: T42) -> T42 = f(x)\n"), 0),
        (
            doubling(
                "type R0 = Real",
                &|i| format!("type R{i} = {{a: R{0}, b: [3]R{0}}}", i - 1),
                42,
            ),
            0,
        ),
        (
            doubling(
                "type P0[a] = a",
                &|i| format!("type P{i}[a] = (P{0}[(a, a)], P{0}[(a, a)])", i - 1),
                42,
            ) + "def f(x: P42[Real]) = x\n",
            0,
        ),
        (
            doubling("type F0 = Real", &|i| format!("type F{i} = F{0} -> F{0}", i - 1), 42)
                + "def f(x: F42) = x\n",
            0,
        ),
        (
            doubling("type D0 = A0", &|i| format!("type D{i} = A{i}(D{0}, D{0})", i - 1), 42)
                + "def f(x: D42) = x\n",
            0,
        ),
        (format!("def f(x0: Real) = {lets}x42\ndef g(x0) = {lets}x42\n"), 0),
        // Each of these is twice as deep as the one before, however its parts are shared.
        (doubling("def f0(x) = (x, x)", &|i| format!("def f{i}(x) = f{0}(f{0}(x))", i - 1), 42), 1),
        (
            doubling(
                "type Q0[a] = (a, a)",
                &|i| format!("type Q{i}[a] = Q{0}[Q{0}[a]]", i - 1),
                42,
            ),
            1,
        ),
    ] {
        let mut client = Client::new(&[]);
        // What takes longer than its time is a message, too.
        let found = client.open(uri, &text);
        assert_eq!(found.len(), errors, "{text}\n{found:?}");
        let last = text.lines().count() - 1;
        for what in
            ["hover", "completion", "documentSymbol", "inlayHint", "codeLens", "signatureHelp"]
        {
            let answer = client.at(what, uri, last, 4).to_string();
            assert!(answer.len() < 1 << 20, "{what}: {} bytes", answer.len());
        }
        let memory = most_memory(client.server.id());
        assert!(memory < 200 << 20, "{memory} bytes\n{text}");
    }
}
