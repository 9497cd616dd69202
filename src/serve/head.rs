//! The head of a request: whether it may be answered at all, and what it asks for.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use hyper::http::request::Parts;
use hyper::http::uri::Authority;
use hyper::http::{HeaderMap, StatusCode, header};
use percent_encoding::percent_decode_str;

use super::message::{Door, Reply, Request};

/// Names the session of an agent that has several connections.
pub(super) const SESSION_HEADER: &str = "aiden-session";
const MAX_SESSION_NAME: usize = 128;

/// What a head says.
pub(super) struct Head {
    pub request: Request,
    pub session: Option<String>,
    pub token: Option<String>,
}

/// Reads a head; `local` is the address that the client has reached.
pub(super) fn read(parts: &Parts, door: Door, local: Option<SocketAddr>) -> Result<Head, Reply> {
    if let Some(local) = local {
        check_host(parts, local)?;
    }
    let text = |name: &str| {
        parts
            .headers
            .get(name)
            .and_then(|value| value.to_str().ok())
    };
    let session = match parts.headers.get(SESSION_HEADER) {
        None => None,
        Some(name) => Some(session_name(name.to_str().ok())?),
    };
    let bearer = text("authorization").and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(token)
    });
    Ok(Head {
        request: Request {
            door,
            method: parts.method.clone(),
            path: path(parts.uri.path())?,
            query: query(parts.uri.query().unwrap_or_default()),
            body: hyper::body::Bytes::new(),
            known_tag: text("if-none-match").map(str::to_owned),
            base_url: base_url(parts, local),
        },
        session,
        token: bearer.map(str::to_owned),
    })
}

fn session_name(name: Option<&str>) -> Result<String, Reply> {
    match name {
        Some(name) if !name.is_empty() && name.len() <= MAX_SESSION_NAME => Ok(name.to_owned()),
        _ => Err(Reply::error(
            StatusCode::BAD_REQUEST,
            format!("the header Aiden-Session must be 1 to {MAX_SESSION_NAME} visible characters"),
        )),
    }
}

/// A page of another site could reach this server under a name of its own that it lets point here (DNS rebinding), so
/// only addresses and `localhost` are answered; nor is a page of another origin.
fn check_host(parts: &Parts, local: SocketAddr) -> Result<(), Reply> {
    let said = parts.uri.authority().map(ToString::to_string);
    let said = said.or_else(|| Some(parts.headers.get(header::HOST)?.to_str().ok()?.to_owned()));
    let known = said.as_deref().is_some_and(|host| is_own(host, local));
    if !known || parts.headers.get_all(header::HOST).iter().count() > 1 {
        return Err(Reply::error(
            StatusCode::MISDIRECTED_REQUEST,
            format!("this server does not go by that Host: use {local}"),
        ));
    }
    let Some(origin) = parts.headers.get(header::ORIGIN) else {
        return Ok(());
    };
    let origin = origin.to_str().ok();
    let same = origin.and_then(|origin| origin.strip_prefix("http://"));
    if same.is_some_and(|host| Some(host) == said.as_deref()) {
        return Ok(());
    }
    Err(Reply::error(
        StatusCode::FORBIDDEN,
        "pages of other origins are not answered",
    ))
}

fn is_own(host: &str, local: SocketAddr) -> bool {
    let Ok(authority) = host.parse::<Authority>() else {
        return false;
    };
    let name = authority.host();
    let port = authority.as_str().strip_prefix(name);
    // Nothing, or the own port; a user name or a number that is no port is neither.
    if port.is_none_or(|port| !port.is_empty() && port != format!(":{}", local.port())) {
        return false;
    }
    let name = name
        .strip_prefix('[')
        .map_or(name, |name| name.trim_end_matches(']'));
    match name.parse::<IpAddr>() {
        Ok(address) => address == local.ip().to_canonical() || address == local.ip(),
        Err(_) => name.eq_ignore_ascii_case("localhost") && local.ip().to_canonical().is_loopback(),
    }
}

fn path(path: &str) -> Result<Vec<String>, Reply> {
    let segments = path.split('/').filter(|segment| !segment.is_empty());
    let decoded = segments.map(|segment| percent_decode_str(segment).decode_utf8());
    decoded
        .map(|segment| match segment {
            Ok(segment) => Ok(segment.into_owned()),
            Err(_) => Err(Reply::error(
                StatusCode::BAD_REQUEST,
                "the path is not valid UTF-8",
            )),
        })
        .collect()
}

/// Of a key that stands there twice, the first counts; what is no UTF-8 is passed over.
fn query(query: &str) -> BTreeMap<String, String> {
    let decode = |text: &str| {
        let spaced = text.replace('+', " ");
        let decoded = percent_decode_str(&spaced).decode_utf8();
        decoded.map(|text| text.into_owned()).ok()
    };
    let mut pairs = BTreeMap::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if let (Some(key), Some(value)) = (decode(key), decode(value)) {
            pairs.entry(key).or_insert(value);
        }
    }
    pairs
}

/// As a proxy in front says, else as the client does.
fn base_url(parts: &Parts, local: Option<SocketAddr>) -> String {
    let scheme = match forwarded(&parts.headers, "x-forwarded-proto") {
        Some("https") => "https",
        _ => "http",
    };
    // That which was checked: a whole address in the request line comes before the header.
    let said = parts.uri.authority().map(Authority::as_str);
    let said = said.or_else(|| parts.headers.get(header::HOST)?.to_str().ok());
    let host = forwarded(&parts.headers, "x-forwarded-host").or(said);
    // It goes into a text that an agent reads and a shell may run.
    let plain = |host: &&str| {
        host.parse::<Authority>().is_ok()
            && host
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b".-:[]".contains(&b))
    };
    match (host.filter(plain), local) {
        (Some(host), _) => format!("{scheme}://{host}"),
        (None, Some(local)) => format!("{scheme}://{local}"),
        (None, None) => format!("{scheme}://localhost"),
    }
}

/// The first item of a header that proxies lengthen.
fn forwarded<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let value = headers.get(name)?.to_str().ok()?;
    value
        .split(',')
        .next()
        .map(str::trim)
        .filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use hyper::http;

    use super::*;

    fn head(local: &str, headers: &[(&str, &str)]) -> Result<Head, Reply> {
        let mut request = http::Request::builder().uri("/a%20b//c?x=1+2&y&x=3&z=%E6%9F%A5");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        read(&parts, Door::Tcp, Some(local.parse().unwrap()))
    }

    #[test]
    fn only_the_own_address_and_localhost_are_answered() {
        for (local, host, known) in [
            ("127.0.0.1:8791", "127.0.0.1:8791", true),
            ("127.0.0.1:8791", "127.0.0.1", true),
            ("127.0.0.1:8791", "LOCALHOST:8791", true),
            ("127.0.0.1:8791", "127.0.0.1:80", false),
            ("127.0.0.1:8791", "evil.example:8791", false),
            ("127.0.0.1:8791", "localhost.evil.example", false),
            ("127.0.0.1:8791", "x@127.0.0.1:8791", false),
            ("127.0.0.1:8791", "127.0.0.1:99999", false),
            ("127.0.0.1:8791", "127.0.0.1:", false),
            ("127.0.0.1:8791", "", false),
            ("[::1]:8791", "[::1]:8791", true),
            ("192.168.1.5:8791", "192.168.1.5:8791", true),
            ("192.168.1.5:8791", "localhost:8791", false),
            ("192.168.1.5:8791", "192.168.1.6:8791", false),
        ] {
            let said = head(local, &[("host", host)]).map_err(|reply| reply.status);
            assert_eq!(said.is_ok(), known, "{host} at {local}");
        }
        let two = [("host", "127.0.0.1:1"), ("host", "127.0.0.1:1")];
        assert!(head("127.0.0.1:1", &two).is_err());
        assert!(head("127.0.0.1:1", &[]).is_err());
    }

    #[test]
    fn pages_of_other_origins_are_refused() {
        for (origin, status) in [
            ("http://127.0.0.1:8791", None),
            ("http://evil.example", Some(StatusCode::FORBIDDEN)),
            ("https://127.0.0.1:8791", Some(StatusCode::FORBIDDEN)),
            ("null", Some(StatusCode::FORBIDDEN)),
        ] {
            let headers = [("host", "127.0.0.1:8791"), ("origin", origin)];
            let said = head("127.0.0.1:8791", &headers)
                .err()
                .map(|reply| reply.status);
            assert_eq!(said, status, "{origin}");
        }
    }

    #[test]
    fn path_and_query_are_decoded() {
        let head = head("127.0.0.1:1", &[("host", "127.0.0.1:1")]).unwrap_or_else(|_| panic!());
        assert_eq!(head.request.path, ["a b", "c"]);
        let query = head.request.query;
        assert_eq!(
            (&*query["x"], &*query["y"], &*query["z"]),
            ("1 2", "", "查")
        );
    }

    #[test]
    fn the_base_url_is_what_a_proxy_says_if_that_is_plain() {
        for (headers, url) in [
            (&[][..], "http://127.0.0.1:1"),
            (
                &[
                    ("x-forwarded-proto", "https, http"),
                    ("x-forwarded-host", "board.example, x"),
                ],
                "https://board.example",
            ),
            (&[("x-forwarded-host", "a;rm -rf")], "http://127.0.0.1:1"),
            (&[("x-forwarded-proto", "javascript")], "http://127.0.0.1:1"),
        ] {
            let all = [&[("host", "127.0.0.1:1")], headers].concat();
            let head = head("127.0.0.1:1", &all).unwrap_or_else(|_| panic!());
            assert_eq!(head.request.base_url, url);
        }
    }
}
