//! What the server answers.

use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::ErrorData;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate, ServerCapabilities, ServerConfig, SubscribeRequestParams,
    SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use tokio::sync::Semaphore;

use super::notify::Changes;
use crate::live::LiveLibrary;
use crate::profile::Language;
use crate::tools::{Format, ResourceContent, Session, Tool, schemas};

const TEXT: &str = "text/markdown";
const BYTES: &str = "application/octet-stream";

/// One client's server.
pub(super) struct SkillServer {
    live: Arc<LiveLibrary>,
    session: Arc<Mutex<Session>>,
    changes: Arc<Changes>,
    listening: Semaphore,
}

impl SkillServer {
    pub fn new(live: Arc<LiveLibrary>) -> Self {
        Self {
            changes: Changes::new(Arc::clone(&live)),
            live,
            session: Arc::default(),
            listening: Semaphore::new(MAX_LISTENING),
        }
    }

    pub fn changes(&self) -> Arc<Changes> {
        Arc::clone(&self.changes)
    }

    /// Runs what may wait for disks and locks on a thread of its own.
    async fn apart<T: Send + 'static>(
        &self,
        work: impl FnOnce(&LiveLibrary, &Mutex<Session>) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let (live, session) = (Arc::clone(&self.live), Arc::clone(&self.session));
        let done = tokio::task::spawn_blocking(move || work(&live, &session));
        done.await
            .map_err(|e| ErrorData::internal_error(e.to_string(), None))
    }
}

impl ServerHandler for SkillServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .build();
        let mut info = ServerConfig::new(capabilities);
        info.server_info = Implementation::new("aiden-skills", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(crate::profile::rules(Language::En).to_owned());
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = schemas(self.live.tools().all(), Format::Mcp)["tools"].take();
        let tools = serde_json::from_value(tools);
        tools
            .map(ListToolsResult::with_all_items)
            .map_err(|e| ErrorData::internal_error(e.to_string(), None))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tool: Tool = request.name.parse().map_err(|e| invalid(&e))?;
        let input = request.arguments.unwrap_or_default().into();
        let answer = self
            .apart(move |live, session| live.call(tool, &input, session))
            .await?;
        Ok(match answer {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(e) => CallToolResult::error(vec![ContentBlock::text(e.to_string())]),
        }
        .into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let listed = self.apart(|live, _| live.tools().resources()).await?;
        let listed = listed.map_err(|e| ErrorData::internal_error(e.to_string(), None))?;
        let resources = listed.into_iter().map(|one| {
            let resource = Resource::new(one.uri, one.name).with_size(one.size);
            match one.description {
                Some(text) => resource.with_description(text).with_mime_type(TEXT),
                None => resource,
            }
        });
        Ok(ListResourcesResult::with_all_items(resources.collect()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let text = ResourceTemplate::new("skill://{name}/SKILL.md", "skill")
            .with_description("The instructions of a skill.")
            .with_mime_type(TEXT);
        let file = ResourceTemplate::new("skill://{name}/{+path}", "file").with_description(
            "A file of a skill, under references/, templates/, scripts/ or assets/.",
        );
        Ok(ListResourceTemplatesResult::with_all_items(vec![
            text, file,
        ]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.clone();
        let read = self
            .apart(move |live, session| live.read_resource(&uri, session))
            .await?;
        let contents = match read {
            Ok(ResourceContent::Text(text)) => {
                ResourceContents::text(text, request.uri).with_mime_type(TEXT)
            }
            Ok(ResourceContent::Bytes(bytes)) => {
                let blob = STANDARD.encode(bytes);
                ResourceContents::blob(blob, request.uri).with_mime_type(BYTES)
            }
            Err(e) => return Err(ErrorData::resource_not_found(e.to_string(), None)),
        };
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let changes = Arc::clone(&self.changes);
        self.apart(move |_, _| {
            if !is_address(&request.uri) {
                return Err(invalid(
                    &"resources of this server are skill://NAME/SKILL.md and other files of skills",
                ));
            }
            let hash = changes
                .hashes(std::slice::from_ref(&request.uri))
                .remove(&request.uri);
            let mut subscribed = changes
                .subscribed
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if subscribed.len() >= MAX_SUBSCRIPTIONS && !subscribed.contains_key(&request.uri) {
                let message = format!("there are {MAX_SUBSCRIPTIONS} subscriptions already");
                return Err(ErrorData::invalid_request(message, None));
            }
            subscribed.insert(request.uri, hash.flatten());
            Ok(())
        })
        .await?
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let mut subscribed = self
            .changes
            .subscribed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        subscribed.remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let mut accepted = requested.clone();
        if let Some(uris) = &mut accepted.resource_subscriptions {
            uris.retain(|uri| is_address(uri));
            uris.truncate(MAX_SUBSCRIPTIONS);
        }
        let uris = accepted.resource_subscriptions.as_deref();
        self.changes.promise(uris.unwrap_or_default());
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let Ok(_listening) = self.listening.try_acquire() else {
            let message = format!("{MAX_LISTENING} requests listen already: end one of them");
            return Err(ErrorData::invalid_request(message, None));
        };
        let mut noticed = self.changes.noticed();
        let accepted = context.accepted();
        let wants_list = accepted.resources_list_changed == Some(true);
        let uris = accepted.resource_subscriptions.as_deref();
        let mut known = self.changes.promised(uris.unwrap_or_default());
        // What has changed since it was promised is told at once.
        noticed.mark_changed();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                changed = noticed.changed() => if changed.is_err() { return Ok(()) },
            }
            let (now, differs, updated) = self.changes.news(known).await;
            known = now;
            let sink = context.sink();
            if wants_list && differs && sink.notify_resource_list_changed().await.is_err() {
                return Ok(());
            }
            for uri in updated {
                if sink.notify_resource_updated(uri).await.is_err() {
                    return Ok(());
                }
            }
        }
    }
}

/// Of one client, at once.
const MAX_LISTENING: usize = 8;
const MAX_SUBSCRIPTIONS: usize = 256;
const MAX_ADDRESS_BYTES: usize = 1024;

/// An address that a resource of this server may have, now or later.
fn is_address(uri: &str) -> bool {
    uri.starts_with("skill://") && uri.len() <= MAX_ADDRESS_BYTES
}

fn invalid(error: &dyn std::fmt::Display) -> ErrorData {
    ErrorData::invalid_params(error.to_string(), None)
}
