//! A daemon under test, and a client that sends what it is told.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::common::Board;

const PATIENCE: Duration = Duration::from_secs(30);

pub struct Daemon {
    child: Child,
    pub socket_path: PathBuf,
    said: Arc<Mutex<Vec<String>>>,
}

/// How it ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub took: Duration,
    #[allow(dead_code, reason = "printed where a test fails")]
    pub said: Vec<String>,
}

/// One answer of HTTP.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }
}

impl Daemon {
    /// Serves a board on a socket and a free port.
    pub fn start(board: &Board) -> Self {
        Self::start_with(board, &[])
    }

    pub fn start_with(board: &Board, flags: &[&str]) -> Self {
        Self::spawn(board, flags, |_| {})
    }

    pub fn spawn(board: &Board, flags: &[&str], change: impl FnOnce(&mut Command)) -> Self {
        let socket_path = board.root().join("s.sock");
        let mut arguments = vec!["-v", "serve", "--http", "127.0.0.1:0", "--socket"];
        arguments.push(socket_path.to_str().unwrap());
        arguments.extend(flags);
        let mut command = board.command(&arguments);
        change(&mut command);
        let daemon = Self::of(command, socket_path);
        let answers = || UnixStream::connect(&daemon.socket_path).is_ok();
        daemon.until("the socket is there", answers);
        daemon
    }

    /// Any command that serves there.
    pub fn of(command: Command, socket_path: PathBuf) -> Self {
        Self::with_input(command, socket_path, Stdio::null())
    }

    pub fn with_input(mut command: Command, socket_path: PathBuf, input: Stdio) -> Self {
        let mut child = command
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let said = Arc::default();
        listen(child.stdout.take().unwrap(), &said);
        listen(child.stderr.take().unwrap(), &said);
        Self {
            child,
            socket_path,
            said,
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn said(&self) -> Vec<String> {
        self.said.lock().unwrap().clone()
    }

    /// What follows `before` in a line that it says, sooner or later.
    pub fn says(&self, before: &str) -> String {
        let mut found = None;
        self.until(before, || {
            let said = self.said();
            let after = said.iter().find_map(|line| line.split_once(before));
            found = after.map(|(_, after)| after.to_owned());
            found.is_some()
        });
        found.unwrap()
    }

    #[track_caller]
    pub fn until(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let until = Instant::now() + PATIENCE;
        while !holds() {
            assert!(
                Instant::now() < until,
                "never: {what}; it said {:#?}",
                self.said()
            );
            thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn tcp_address(&self) -> SocketAddr {
        self.says("listening on http://").parse().unwrap()
    }

    /// The page's address and its token.
    pub fn console(&self) -> (SocketAddr, String) {
        let said = self.says("The page for people is at http://");
        let (address, token) = said.split_once("/#token=").unwrap();
        (address.parse().unwrap(), token.to_owned())
    }

    pub fn socket(&self) -> Client {
        Client::new(Address::Socket(self.socket_path.clone()))
    }

    pub fn tcp(&self) -> Client {
        Client::new(Address::Tcp(self.tcp_address()))
    }

    pub fn page(&self) -> Client {
        let (address, token) = self.console();
        let bearer = format!("Bearer {token}");
        Client::new(Address::Tcp(address)).with("Authorization", &bearer)
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid().try_into().unwrap()), signal).unwrap();
    }

    pub fn stop(self) -> Ended {
        self.signal(Signal::SIGTERM);
        self.ended()
    }

    pub fn ended(mut self) -> Ended {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                // The rest of what it said is in the pipes.
                thread::sleep(Duration::from_millis(20));
                return Ended {
                    code: status.code(),
                    took: began.elapsed(),
                    said: self.said(),
                };
            }
            assert!(
                began.elapsed() < PATIENCE,
                "it does not end: {:#?}",
                self.said()
            );
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Bytes of memory that it holds, and the most that it ever held.
    pub fn memory(&self) -> (u64, u64) {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let field = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap();
            let number = line.split_whitespace().nth(1).unwrap();
            number.parse::<u64>().unwrap() * 1024
        };
        (field("VmRSS:"), field("VmHWM:"))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn listen(from: impl Read + Send + 'static, said: &Arc<Mutex<Vec<String>>>) {
    let said = Arc::clone(said);
    thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            said.lock().unwrap().push(line);
        }
    });
}

#[derive(Clone)]
pub enum Address {
    Socket(PathBuf),
    Tcp(SocketAddr),
}

/// Sends each request on a connection of its own, unless [`Client::connect`] is asked for one.
#[derive(Clone)]
pub struct Client {
    address: Address,
    headers: Vec<(String, String)>,
}

pub trait Stream: Read + Write + Send {
    fn end_writing(&self);
}

impl Stream for UnixStream {
    fn end_writing(&self) {
        let _ = self.shutdown(Shutdown::Write);
    }
}

impl Stream for TcpStream {
    fn end_writing(&self) {
        let _ = self.shutdown(Shutdown::Write);
    }
}

impl Client {
    pub fn new(address: Address) -> Self {
        Self {
            address,
            headers: Vec::new(),
        }
    }

    /// With a header more in each request.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(other, _)| other != name);
        self.headers.push((name.into(), value.into()));
        self
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None)
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, Some(&body.to_string()))
    }

    pub fn send(&self, method: &str, path: &str, body: Option<&str>) -> Answer {
        self.connect().send(method, path, body)
    }

    pub fn stream(&self) -> Box<dyn Stream> {
        match &self.address {
            Address::Socket(path) => {
                let stream = UnixStream::connect(path).unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                Box::new(stream)
            }
            Address::Tcp(address) => {
                let stream = TcpStream::connect(address).unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                Box::new(stream)
            }
        }
    }

    /// A connection that stays.
    pub fn connect(&self) -> Connection {
        let host = match &self.address {
            Address::Socket(_) => "localhost".to_owned(),
            Address::Tcp(address) => address.to_string(),
        };
        Connection {
            stream: BufReader::new(self.stream()),
            headers: self.headers.clone(),
            host,
        }
    }
}

pub struct Connection {
    stream: BufReader<Box<dyn Stream>>,
    headers: Vec<(String, String)>,
    host: String,
}

impl Connection {
    pub fn send(&mut self, method: &str, path: &str, body: Option<&str>) -> Answer {
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        if !self.headers.iter().any(|(name, _)| name == "Host") {
            head.push_str(&format!("Host: {}\r\n", self.host));
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(body) = body {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        let request = format!("{head}\r\n{}", body.unwrap_or_default());
        self.stream.get_mut().write_all(request.as_bytes()).unwrap();
        read_answer(&mut self.stream, method != "HEAD").expect("an answer")
    }
}

/// The next answer; `None` at the end of the connection.
pub fn read_answer(from: &mut impl BufRead, has_body: bool) -> Option<Answer> {
    let mut line = String::new();
    if from.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let status = line.split(' ').nth(1)?.parse().ok()?;
    let mut headers = Vec::new();
    loop {
        line.clear();
        from.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let len = headers.iter().find(|(name, _)| name == "content-length");
    let len = len
        .filter(|_| has_body)
        .map_or(0, |(_, len)| len.parse().unwrap());
    let mut body = vec![0; len];
    from.read_exact(&mut body).ok()?;
    Some(Answer {
        status,
        headers,
        body,
    })
}
