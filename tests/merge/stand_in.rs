//! A model's server that answers as it is told.

#![allow(dead_code)]

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::common::Board;

/// What the server does with a request.
#[derive(Clone)]
pub enum Reply {
    /// Answers with this status and body.
    Says(u16, Vec<u8>),
    /// The same in chunks of a few bytes.
    InChunks(Vec<u8>),
    /// Says that so many bytes come, and sends no more than half of them.
    BreaksOff(Vec<u8>),
    /// Sends a byte from time to time.
    Drips,
    /// Sends without end.
    Floods,
    /// Says nothing.
    IsSilent,
    /// Hangs up.
    HangsUp,
}

/// A request, as it came.
#[derive(Debug, Clone)]
pub struct Request {
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: Value,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }
}

#[derive(Default)]
struct State {
    replies: VecDeque<Reply>,
    requests: Vec<Request>,
}

/// Gives its replies in turn, and the last one for ever.
pub struct StandIn {
    address: String,
    state: Arc<Mutex<State>>,
}

impl StandIn {
    pub fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let state = Arc::new(Mutex::new(State {
            replies: replies.into_iter().collect(),
            requests: Vec::new(),
        }));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                thread::spawn(move || serve(stream, &shared));
            }
        });
        Self { address, state }
    }

    pub fn requests(&self) -> Vec<Request> {
        self.state.lock().unwrap().requests.clone()
    }

    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    /// Makes this the model of a board; `more` are lines of `[skills.merge]`.
    pub fn configure(&self, board: &Board, kind: &str, more: &str) {
        configure(board, kind, &self.url(), more);
    }
}

/// Answers one request on a connection of any kind.
pub fn serve_over(stream: &mut (impl Read + Write), body: &[u8]) {
    let mut reader = BufReader::new(stream);
    if read(&mut reader).is_none() {
        return;
    }
    let stream = reader.into_inner();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(body);
    let _ = stream.flush();
}

/// An `agent.toml` as the existing agent writes it.
pub fn configure(board: &Board, kind: &str, url: &str, more: &str) {
    let toml = format!(
        "[model]\nprovider = \"main\"\nmodel = \"test-model\"\n\n[model_providers.main]\ntype = \"{kind}\"\n\
         api_key = \"sk-of-the-test\"\nbase_url = \"{url}\"\n\n[skills.merge]\n{more}\n"
    );
    super::common::write(&board.agent().join("agent.toml"), toml);
}

fn serve(stream: TcpStream, shared: &Mutex<State>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    if is_asked_to_connect(&mut reader) {
        let _ = (&stream).write_all(b"HTTP/1.1 200 OK\r\n\r\n");
    }
    let Some(request) = read(&mut reader) else {
        return;
    };
    let reply = {
        let mut state = shared.lock().unwrap();
        state.requests.push(request);
        match state.replies.len() {
            0 | 1 => state.replies.front().cloned(),
            _ => state.replies.pop_front(),
        }
    };
    if let Some(reply) = reply {
        // Whoever asked may be gone.
        let _ = answer(stream, &reply);
    }
}

/// Whether this is taken for a proxy; what it is asked to connect to, it is itself.
fn is_asked_to_connect(reader: &mut BufReader<TcpStream>) -> bool {
    let is_connect = reader
        .fill_buf()
        .is_ok_and(|start| start.starts_with(b"CONNECT "));
    if is_connect {
        let lines = reader.lines().map_while(Result::ok);
        lines.take_while(|line| !line.is_empty()).for_each(drop);
    }
    is_connect
}

fn read(reader: &mut impl BufRead) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")?
        .1
        .parse()
        .ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request {
        line: line.trim_end().to_owned(),
        headers,
        body: serde_json::from_slice(&body).unwrap_or_default(),
    })
}

fn answer(mut stream: TcpStream, reply: &Reply) -> std::io::Result<()> {
    let head = |status: u16, headers: &str| {
        format!(
            "HTTP/1.1 {status} OK\r\ncontent-type: application/json\r\n{headers}connection: close\r\n\r\n"
        )
    };
    let length = |bytes: usize| format!("content-length: {bytes}\r\n");
    let chunked = "transfer-encoding: chunked\r\n";
    match reply {
        Reply::Says(status, body) => {
            stream.write_all(head(*status, &length(body.len())).as_bytes())?;
            stream.write_all(body)
        }
        Reply::InChunks(body) => {
            stream.write_all(head(200, chunked).as_bytes())?;
            for chunk in body.chunks(7) {
                stream.write_all(format!("{:x}\r\n", chunk.len()).as_bytes())?;
                stream.write_all(chunk)?;
                stream.write_all(b"\r\n")?;
            }
            stream.write_all(b"0\r\n\r\n")
        }
        Reply::BreaksOff(body) => {
            stream.write_all(head(200, &length(body.len())).as_bytes())?;
            stream.write_all(&body[..body.len() / 2])
        }
        Reply::Drips => {
            stream.write_all(head(200, &length(1000)).as_bytes())?;
            loop {
                stream.write_all(b" ")?;
                thread::sleep(Duration::from_millis(50));
            }
        }
        Reply::Floods => {
            stream.write_all(head(200, "").as_bytes())?;
            loop {
                stream.write_all(&[b' '; 4096])?;
            }
        }
        Reply::IsSilent => {
            // Until the other side hangs up.
            let _ = stream.read(&mut [0; 1]);
            Ok(())
        }
        Reply::HangsUp => Ok(()),
    }
}

/// The object that a model answers with.
pub fn result(status: &str, text: &str, summary: &str) -> String {
    json!({"status": status, "merged_skill_md": text, "summary": summary}).to_string()
}

/// OpenAI's reply around a model's words.
pub fn openai(words: &str) -> Vec<u8> {
    openai_ended(words, "stop")
}

pub fn openai_ended(words: &str, finish: &str) -> Vec<u8> {
    let message = json!({"role": "assistant", "content": words});
    let choice = json!({"index": 0, "message": message, "finish_reason": finish});
    json!({"id": "1", "object": "chat.completion", "choices": [choice]})
        .to_string()
        .into_bytes()
}

pub fn merged(text: &str) -> Vec<u8> {
    openai(&result("merged", text, "Both sides."))
}
