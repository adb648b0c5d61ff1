//! Chromium without a window, driven by the DevTools protocol over a pair of pipes.
//!
//! Debian's package is installed if it is missing and we may; otherwise the test fails and says so.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use serde_json::{Value, json};

/// Far more than any step takes: only a hang reaches it.
const PATIENCE: Duration = Duration::from_secs(120);

const FLAGS: [&str; 11] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
    "--window-size=1400,1000",
];

/// A browser with one page.
pub struct Browser {
    process: Child,
    commands: ChildStdin,
    messages: Receiver<Value>,
    session: String,
    sent: u64,
    events: Vec<Value>,
    url: String,
    _profile: tempfile::TempDir,
    /// One browser at a time: each takes two cores.
    _turn: MutexGuard<'static, ()>,
}

impl Browser {
    /// Opens a file and waits until it is loaded.
    pub fn open(page: &Path) -> Browser {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(|poison| poison.into_inner());
        let profile = tempfile::tempdir().expect("a directory for the profile");
        // The protocol is spoken on descriptors 3 and 4, which a shell can make of 0 and 1.
        let mut process = Command::new("sh")
            .args(["-c", r#"exec "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#, "sh", chromium()])
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let commands = process.stdin.take().expect("piped");
        let answers = BufReader::new(process.stdout.take().expect("piped"));
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for message in answers.split(0).map_while(Result::ok) {
                let parsed = serde_json::from_slice(&message).expect("the protocol is JSON");
                if sender.send(parsed).is_err() {
                    break;
                }
            }
        });
        let mut browser = Browser {
            process,
            commands,
            messages,
            session: String::new(),
            sent: 0,
            events: Vec::new(),
            url: format!("file://{}", page.display()),
            _profile: profile,
            _turn: turn,
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attached =
            browser.call("Target.attachToTarget", json!({"targetId": target["targetId"], "flatten": true}));
        browser.session = attached["sessionId"].as_str().expect("a session").to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser.call("Page.navigate", json!({"url": browser.url}));
        while !browser.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let message = browser.messages.recv_timeout(PATIENCE).expect("the page loads");
            browser.events.push(message);
        }
        browser.settle();
        browser
    }

    /// The value of an expression in the page.
    #[track_caller]
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let parameters = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", parameters);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// The text of an element.
    #[track_caller]
    pub fn text(&mut self, selector: &str) -> String {
        let value = self.evaluate(&format!("document.querySelector({selector:?}).innerText"));
        value.as_str().expect("a text").to_owned()
    }

    /// The middle of an element, or the point at these shares of its width and height.
    pub fn point(&mut self, selector: &str, across: f64, down: f64) -> (f64, f64) {
        let script = format!(
            "(() => {{ const e = document.querySelector({selector:?}); e.scrollIntoView({{block: 'center'}}); \
             const b = e.getBoundingClientRect(); return [b.left + b.width * {across}, b.top + b.height * {down}]; }})()"
        );
        let value = self.evaluate(&script);
        (value[0].as_f64().expect("a number"), value[1].as_f64().expect("a number"))
    }

    /// Gives the window another size.
    pub fn resize(&mut self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
        self.settle();
    }

    /// A mouse event: `mouseMoved`, `mousePressed`, `mouseReleased` or `mouseWheel`.
    pub fn mouse(&mut self, kind: &str, (x, y): (f64, f64), wheel: f64) {
        let pressing = kind == "mousePressed" || kind == "mouseReleased";
        self.call(
            "Input.dispatchMouseEvent",
            json!({"type": kind, "x": x, "y": y, "deltaX": 0, "deltaY": wheel, "clickCount": u8::from(pressing),
                   "button": if pressing { "left" } else { "none" }, "buttons": u8::from(kind == "mousePressed")}),
        );
        self.settle();
    }

    /// Presses and releases a key, by its name or character.
    pub fn key(&mut self, key: &str) {
        let code = match key {
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            "Enter" => 13,
            _ => 0,
        };
        let text = match key {
            "Enter" => "\r",
            _ if key.chars().count() == 1 => key,
            _ => "",
        };
        for kind in ["keyDown", "keyUp"] {
            let typed = if kind == "keyDown" { text } else { "" };
            self.call(
                "Input.dispatchKeyEvent",
                json!({"type": kind, "key": key, "text": typed, "windowsVirtualKeyCode": code}),
            );
        }
        self.settle();
    }

    /// What the page complained about: exceptions, errors and warnings of the console.
    pub fn complaints(&self) -> Vec<String> {
        let complaint = |event: &&Value| match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => {
                event["params"]["type"] == "error" || event["params"]["type"] == "warning"
            }
            Some("Log.entryAdded") => event["params"]["entry"]["level"] == "error",
            _ => false,
        };
        self.events.iter().filter(complaint).map(Value::to_string).collect()
    }

    /// What the page asked for besides itself.
    pub fn requests(&self) -> Vec<String> {
        let asked = self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        let urls = asked.map(|event| event["params"]["request"]["url"].as_str().unwrap_or("").to_owned());
        urls.filter(|url| !url.starts_with("data:") && *url != self.url).collect()
    }

    /// Waits until what was asked to be drawn is drawn.
    fn settle(&mut self) {
        self.evaluate(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))",
        );
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.sent += 1;
        let mut command = json!({"id": self.sent, "method": method, "params": parameters});
        if !self.session.is_empty() {
            command["sessionId"] = json!(self.session);
        }
        self.commands.write_all(format!("{command}\0").as_bytes()).expect("chromium listens");
        loop {
            let message =
                self.messages.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("no answer to {method}"));
            if message["id"] == self.sent {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

/// The browser, installed now if it is missing.
fn chromium() -> &'static str {
    static CHROMIUM: OnceLock<&str> = OnceLock::new();
    CHROMIUM.get_or_init(|| {
        let works = || {
            let mut version = Command::new("chromium");
            version.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
            version.status().is_ok_and(|status| status.success())
        };
        if !works() {
            let install = "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium";
            let installed = Command::new("sh").args(["-c", install]).stdout(Stdio::null()).status();
            let installed = installed.is_ok_and(|status| status.success());
            assert!(installed && works(), "the tests of the page need chromium (on Debian: apt-get install chromium)");
        }
        "chromium"
    })
}
