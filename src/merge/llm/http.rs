//! One request to a model's server, with bounds on time and size.

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Error, Timeout};

/// A model's reply with a text of 32 KiB is far smaller.
const MAX_REPLY_BYTES: u64 = 1024 * 1024;
/// Larger than any file of certificates.
const MAX_CA_BYTES: u64 = 4 * 1024 * 1024;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// A `POST` of JSON.
pub(super) struct Request {
    pub url: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: String,
}

/// What came back.
pub(super) struct Reply {
    pub status: u16,
    pub body: Vec<u8>,
}

/// Why nothing usable came back. The reason has neither the address nor a header in it: both may hold a secret.
pub(super) struct HttpError {
    pub reason: String,
    pub reached_server: bool,
    pub is_too_large: bool,
}

pub(super) struct Http {
    agent: Agent,
}

impl Http {
    pub fn new(timeout: Duration, ca_file: Option<&Path>) -> Result<Self, String> {
        let tls = TlsConfig::builder().root_certs(roots(ca_file)?).build();
        let config = Agent::config_builder()
            .timeout_global(Some(timeout))
            .timeout_connect(Some(timeout.min(CONNECT_TIMEOUT)))
            .http_status_as_error(false)
            // A key must not follow to another server.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .max_idle_connections(0)
            .user_agent(concat!("aiden-skills/", env!("CARGO_PKG_VERSION")))
            .tls_config(tls)
            .build();
        Ok(Self {
            agent: config.new_agent(),
        })
    }

    pub fn post(&self, request: &Request) -> Result<Reply, HttpError> {
        let mut builder = self
            .agent
            .post(&request.url)
            .content_type("application/json");
        for (name, value) in &request.headers {
            builder = builder.header(*name, value);
        }
        let response = builder.send(&request.body).map_err(|e| HttpError::of(&e))?;
        let status = response.status().as_u16();
        let mut body = Vec::new();
        // Counted after decompression.
        let mut reader = response.into_body().into_reader().take(MAX_REPLY_BYTES + 1);
        reader.read_to_end(&mut body).map_err(|e| HttpError {
            reason: match Error::from(e) {
                Error::Timeout(_) => "took too long to answer".into(),
                _ => "broke off its answer".into(),
            },
            reached_server: true,
            is_too_large: false,
        })?;
        if body.len() as u64 > MAX_REPLY_BYTES {
            return Err(HttpError {
                reason: format!("is larger than {MAX_REPLY_BYTES} bytes"),
                reached_server: true,
                is_too_large: true,
            });
        }
        Ok(Reply { status, body })
    }
}

impl HttpError {
    fn of(error: &Error) -> Self {
        use std::io::ErrorKind;
        let (reached_server, reason) = match error {
            Error::HostNotFound => (false, "was not found by its name".to_owned()),
            Error::ConnectionFailed => (false, "was not reached".to_owned()),
            Error::Timeout(Timeout::Resolve | Timeout::Connect) => {
                (false, "was not reached in time".to_owned())
            }
            Error::Timeout(_) => (true, "took too long to answer".to_owned()),
            Error::Tls(_) | Error::Rustls(_) | Error::Pem(_) => (
                false,
                format!("did not make a secure connection ({})", tls_reason(error)),
            ),
            Error::BadUri(_) | Error::Http(_) => (
                false,
                "has an address that is no URL: check base_url".to_owned(),
            ),
            Error::InvalidProxyUrl | Error::ConnectProxyFailed(_) => {
                (false, "was not reached through the proxy".to_owned())
            }
            Error::Io(e) => match e.kind() {
                ErrorKind::ConnectionReset
                | ErrorKind::ConnectionAborted
                | ErrorKind::BrokenPipe
                | ErrorKind::UnexpectedEof => (true, "broke the connection".to_owned()),
                kind => match e
                    .get_ref()
                    .and_then(|inner| inner.downcast_ref::<rustls::Error>())
                {
                    Some(inner) => (false, format!("did not make a secure connection ({inner})")),
                    None => (false, format!("was not reached ({kind})")),
                },
            },
            _ => (true, "did not answer as HTTP wants".to_owned()),
        };
        Self {
            reason,
            reached_server,
            is_too_large: false,
        }
    }
}

fn tls_reason(error: &Error) -> String {
    match error {
        Error::Rustls(e) => e.to_string(),
        Error::Tls(reason) => (*reason).to_owned(),
        _ => "certificate".into(),
    }
}

/// Those of the file; else the system's; else those that are built in.
fn roots(ca_file: Option<&Path>) -> Result<RootCerts, String> {
    if let Some(path) = ca_file {
        let shown = path.display();
        let bytes = match crate::store::read_followed(path, MAX_CA_BYTES) {
            Ok(Some(crate::store::Bounded::Whole(bytes))) => bytes,
            Ok(None) => return Err(format!("there is no ca_file {shown}")),
            Ok(Some(_)) => return Err(format!("the ca_file {shown} is too large")),
            Err(e) => return Err(format!("the ca_file {shown} can't be read: {e}")),
        };
        let certificates: Vec<Certificate<'static>> = parse_pem(&bytes)
            .filter_map(|item| match item {
                Ok(PemItem::Certificate(certificate)) => Some(certificate),
                _ => None,
            })
            .collect();
        if certificates.is_empty() {
            return Err(format!("the ca_file {shown} has no certificate in PEM"));
        }
        return Ok(RootCerts::new_with_certs(&certificates));
    }
    let system = rustls_native_certs::load_native_certs().certs;
    if system.is_empty() {
        return Ok(RootCerts::WebPki);
    }
    let certificates: Vec<Certificate<'static>> = system
        .iter()
        .map(|certificate| Certificate::from_der(certificate).to_owned())
        .collect();
    Ok(RootCerts::new_with_certs(&certificates))
}
