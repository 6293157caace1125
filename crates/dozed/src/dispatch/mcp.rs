//! `mcp.open`.

use doze_core::model::Permission;
use doze_engine::Reader;
use doze_mcp::{Opening, Project};
use doze_protocol::mcp::OpenParams;
use doze_protocol::{Agent, Params, WireError, parse_params};

use super::{Dispatch, given, told};

impl Dispatch {
    /// Notes the mode that a hook of a session told, for the tools of the same project and harness.
    pub(super) fn note_mode(
        &self,
        reader: &Reader,
        agent: Option<&Agent>,
        session: Option<&str>,
        mode: Option<&str>,
    ) -> Result<(), WireError> {
        let (Some(agent), Some(mode)) = (agent, mode.filter(|mode| !mode.is_empty())) else { return Ok(()) };
        let harness = given::agent(agent).harness;
        self.engine
            .note_permission(&self.owner, reader, &harness, session.unwrap_or_default(), mode)
            .map_err(told)
    }

    /// Opens a face for one agent.
    pub(crate) fn mcp_open(&self, params: Params) -> Result<Project, WireError> {
        let params: OpenParams = parse_params(params)?;
        if !matches!(params.face.as_str(), "" | "project") {
            return Err(WireError::invalid("face", "expected project"));
        }
        // It may be left out where the fields are read, so that it is looked at here.
        if !params.cwd.starts_with('/') {
            return Err(WireError::invalid(
                "cwd",
                "expected the whole path of a folder, as in /home/dev/app",
            ));
        }
        let opening = Opening {
            cwd: params.cwd,
            harness: params.harness,
            mode: given::word::<Permission>("mode", params.mode.as_ref())?,
        };
        Project::open(self.engine.clone(), self.owner.clone(), opening).map_err(told)
    }
}
