//! A project as an MCP server: what it says of itself, what it offers, and whose turn it is.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};

use crate::arguments::Arguments;
use crate::project::Project;
use crate::tools;
use crate::turns::{Broken, Line, MOST};

/// A project's tools for one connection.
pub(crate) struct Face {
    project: Project,
    line: Line,
}

impl Face {
    pub(crate) fn new(project: Project, line: Line) -> Self {
        Self { project, line }
    }
}

impl ServerHandler for Face {
    fn get_info(&self) -> ServerConfig {
        let mut server = Implementation::new("doze", env!("CARGO_PKG_VERSION"));
        server.title = Some("doze".to_owned());
        let told = "The memory of this project across runs and agents. Search it before working something out again; \
                    record what you proved.";
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
        ServerConfig::new(capabilities).with_server_info(server).with_instructions(told)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::offered(self.project.is_memory_on())))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.to_string();
        if !tools::offered(true).iter().any(|tool| tool.name == name) {
            return Err(ErrorData::invalid_params(format!("there is no tool {name}"), None));
        }
        let (project, arguments) = (self.project.clone(), Arguments::of(request.arguments));
        let result = match self.line.run(move || project.run(&name, &arguments)).await {
            Ok(Ok(answer)) => {
                let mut result = CallToolResult::success(vec![ContentBlock::text(answer.text)]);
                result.structured_content = answer.fields;
                result
            }
            Ok(Err(reason)) => failure(reason),
            Err(Broken::Full) => {
                failure(format!("{MOST} calls are under way; call again when some are answered"))
            }
            // A panic is contained; the log has it.
            Err(Broken::Panicked) => {
                failure("doze broke off over this call; nothing of it can be relied on".to_owned())
            }
        };
        Ok(result.into())
    }
}

fn failure(reason: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(reason)])
}
