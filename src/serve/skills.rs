//! The library over HTTP: profile, status, diff, sync, merge, reset, archive.

use std::sync::TryLockError;

use hyper::http::{StatusCode, header};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::background;
use super::message::{Reply, Request};
use super::routes::Asking;
use super::server::Server;
use crate::evolve::guidance;
use crate::merge::{Preview, Wanted, merge_bundled_skills, preview_merge, status_with_merges};
use crate::profile::{self, Language};
use crate::store::{Hash, LockError};
use crate::sync::{
    Against, CompareError, EngineSetting, Reset, ResetError, SyncError, compare_skill,
    reset_skills, skill_status, skill_texts, sync_bundled_skills,
};
use crate::tools::Tool;

/// `GET /api/profile?active=A,B&task=TEXT&lang=en|zh`
pub(super) fn profile(server: &Server, request: &Request) -> Reply {
    let text = |key: &str| request.query.get(key).map(String::as_str);
    let language = match text("lang").unwrap_or_default() {
        "" | "en" => Language::En,
        "zh" => Language::Zh,
        other => {
            let message = format!("there is no language {other:?}: use en or zh");
            return Reply::error(StatusCode::BAD_REQUEST, message);
        }
    };
    let active = text("active").unwrap_or_default().split(',').map(str::trim);
    let wanted = profile::Wanted {
        active: active
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect(),
        task: text("task").map(str::to_owned),
        language,
    };
    let run = match server.live.begin_run() {
        Ok(run) => run,
        Err(e) => return failed(&e),
    };
    let mut profile = run.profile(&wanted);
    if let Some(task) = &wanted.task {
        let options = &server.live.tools().options;
        profile.add_guidance(&guidance(options, &wanted.active, task));
    }
    let tag = format!(
        "\"{}-{}\"",
        run.generation,
        Hash::of(profile.text.as_bytes())
    );
    let is_known = |known: &str| {
        let mut tags = known
            .split(',')
            .map(|one| one.trim().trim_start_matches("W/"));
        tags.any(|one| one == tag || one == "*")
    };
    if request.known_tag.as_deref().is_some_and(is_known) {
        return Reply::new(StatusCode::NOT_MODIFIED, "application/json", "")
            .with(header::ETAG, tag);
    }
    let document = json!({
        "profile": profile.text, "missing": profile.missing, "generation": run.generation
    });
    Reply::json(&document).with(header::ETAG, tag)
}

/// `GET /api/skills`
pub(super) fn status(server: &Server) -> Reply {
    let tools = server.live.tools();
    match status_with_merges(&tools.options, &[], tools.catalog.as_ref()) {
        Ok(report) => Reply::json(&report),
        Err(e) => failed(&e),
    }
}

/// `GET /api/skills/<name>/diff?against=bundled|base|preview`, with the texts of all sides.
pub(super) fn diff(server: &Server, request: &Request, name: &str) -> Reply {
    let tools = server.live.tools();
    let against = request
        .query
        .get("against")
        .map_or("bundled", String::as_str);
    let compare = |against| compare_skill(&tools.options, name, against);
    let (diff, conflicts) = match against {
        "bundled" => (compare(Against::Bundled), Vec::new()),
        "base" => (compare(Against::Base), Vec::new()),
        "preview" => match preview_merge(&tools.options, name, tools.catalog.as_ref()) {
            Ok(Preview::Unknown) => return no_skill(name),
            Ok(Preview::NotNeeded) => (Ok(String::new()), Vec::new()),
            Ok(Preview::Settled(diff)) => (Ok(diff), Vec::new()),
            Ok(Preview::Unsettled(conflicts)) => (Ok(String::new()), conflicts),
            Err(e) => return failed(&e),
        },
        other => {
            let message =
                format!("there is no diff against {other:?}: use bundled, base or preview");
            return Reply::error(StatusCode::BAD_REQUEST, message);
        }
    };
    let texts = skill_texts(&tools.options, name);
    match (diff, texts) {
        (Ok(diff), Ok(texts)) => Reply::json(&json!({
            "name": name, "against": against, "diff": diff, "conflicts": conflicts, "texts": texts
        })),
        (Err(e @ (CompareError::NoSuchSkill { .. } | CompareError::Name(_))), _) => {
            Reply::error(StatusCode::NOT_FOUND, e.to_string())
        }
        (Err(e @ CompareError::Open { .. }), _) | (_, Err(e @ CompareError::Open { .. })) => {
            Reply::error(StatusCode::CONFLICT, e.to_string())
        }
        (Err(e), _) | (_, Err(e)) => Reply::error(StatusCode::INTERNAL_SERVER_ERROR, e.to_string()),
    }
}

/// `POST /api/sync`, body `{"dry_run": true}`, optional; merges that it names follow in the background.
pub(super) fn sync(server: &Server, request: &Request) -> Reply {
    let wanted: SyncBody = match body(request) {
        Ok(wanted) => wanted,
        Err(reply) => return reply,
    };
    if wanted.dry_run {
        let mut options = server.merge_options().sync;
        options.dry_run = true;
        return match sync_bundled_skills(&options) {
            Ok(report) => Reply::json(&report),
            Err(e) => failed(&e),
        };
    }
    match background::sync(server) {
        Ok(report) => {
            if !report.merge_needed.is_empty() {
                server.inbox.wish_sync();
            }
            Reply::json(&report)
        }
        Err(e) => failed(&e),
    }
}

/// `POST /api/merge`, body `{"names": […], "retry_failed": true}`, both optional.
pub(super) fn merge(server: &Server, request: &Request) -> Reply {
    let MergeBody {
        names,
        retry_failed,
    } = match body(request) {
        Ok(wanted) => wanted,
        Err(reply) => return reply,
    };
    if let Some(unknown) = names.iter().find(|name| !is_known(server, name)) {
        return no_skill(unknown);
    }
    let wanted = Wanted {
        names,
        retry_failed,
    };
    let options = server.merge_options();
    if options.sync.engine == EngineSetting::Off {
        return Reply::error(
            StatusCode::CONFLICT,
            "merging is switched off (engine = off)",
        );
    }
    let _one_at_a_time = match server.merging.try_lock() {
        Ok(one) => one,
        Err(TryLockError::Poisoned(one)) => one.into_inner(),
        Err(TryLockError::WouldBlock) => {
            let message = "merges are under way: /api/skills tells when they have ended";
            return Reply::error(StatusCode::CONFLICT, message);
        }
    };
    let merged = merge_bundled_skills(&options, &wanted, &server.stop, &mut |event| {
        background::note(server, event);
    });
    match merged {
        Ok(report) => Reply::json(&report),
        Err(e) => failed(&e),
    }
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct SyncBody {
    dry_run: bool,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct MergeBody {
    names: Vec<String>,
    retry_failed: bool,
}

/// What is not known is refused: it may be misspelt, and was meant to change what is done.
fn body<T: DeserializeOwned>(request: &Request) -> Result<T, Reply> {
    T::deserialize(request.json()?).map_err(|e| {
        let message = format!("the body is not as it must be: {e}");
        Reply::error(StatusCode::BAD_REQUEST, message)
    })
}

/// Whether bundle, ledger or library has such a skill.
fn is_known(server: &Server, name: &str) -> bool {
    let status = skill_status(&server.live.tools().options, &[name.to_owned()]);
    // What can't be looked at is not said to be missing: what is asked for will say why.
    !status.is_ok_and(|status| status.skills.is_empty())
}

/// `POST /api/skills/<name>/reset`
pub(super) fn reset(server: &Server, name: &str) -> Reply {
    if !is_known(server, name) {
        return no_skill(name);
    }
    let reset = Reset::Named(vec![name.to_owned()]);
    match reset_skills(&server.live.tools().options, &reset) {
        Ok(report) if report.failed.is_empty() => Reply::json(&report),
        Ok(report) => Reply::json_with(StatusCode::CONFLICT, &report),
        Err(ResetError::Sync(e)) => failed(&e),
        Err(e @ ResetError::Bundle(_)) => Reply::error(StatusCode::CONFLICT, e.to_string()),
    }
}

/// `POST /api/skills/<name>/archive`
pub(super) fn archive(server: &Server, asking: &Asking<'_>, name: &str) -> Reply {
    if !is_known(server, name) {
        return no_skill(name);
    }
    let input = json!({"action": "archive", "name": name, "reason": "archived by hand"});
    match server.live.call(Tool::Manage, &input, asking.session) {
        Ok(output) => Reply::json(&json!({"status": "ok", "output": output})),
        Err(e) => Reply::error(StatusCode::CONFLICT, e.to_string()),
    }
}

fn no_skill(name: &str) -> Reply {
    let message = format!("there is no skill {name:?} in bundle, ledger or library");
    Reply::error(StatusCode::NOT_FOUND, message)
}

/// What a sync could not do at all.
fn failed(error: &SyncError) -> Reply {
    let status = match error {
        SyncError::Lock(LockError::Busy { .. }) => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    Reply::error(status, error.to_string())
}
