//! The page for people: one document that needs nothing else, and takes everything it shows from the routes.

use hyper::http::{StatusCode, header};

use super::message::Reply;
use super::token::nonce;

const PAGE: &str = include_str!("console.html");

/// The page; what it shows needs the token, which the address holds behind `#` and which so never travels with it.
pub(super) fn page() -> Reply {
    let nonce = match nonce() {
        Ok(nonce) => nonce,
        Err(e) => return Reply::error(StatusCode::INTERNAL_SERVER_ERROR, e.to_string()),
    };
    let policy = format!(
        "default-src 'none'; connect-src 'self'; img-src data:; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let page = PAGE.replace("{nonce}", &nonce);
    Reply::new(StatusCode::OK, "text/html; charset=utf-8", page)
        .with(header::CONTENT_SECURITY_POLICY, policy)
        .with(header::REFERRER_POLICY, "no-referrer")
}
