//! Memory goes on and off while agents run, and with it what they are offered (S1.37).

use std::convert::Infallible;

use rmcp::RoleServer;
use rmcp::service::Peer;
use tokio::sync::watch;

/// Tells every connection when memory is switched on or off.
#[derive(Debug, Clone)]
pub struct MemorySwitch(watch::Sender<bool>);

impl MemorySwitch {
    /// A switch in its first position.
    pub fn new(is_on: bool) -> Self {
        Self(watch::Sender::new(is_on))
    }

    /// Switches memory on or off; who is told looks at the tools again. Nobody is told when it was so.
    pub fn set(&self, is_on: bool) {
        self.0.send_if_modified(|known| std::mem::replace(known, is_on) != is_on);
    }

    pub(crate) fn watch(&self) -> watch::Receiver<bool> {
        self.0.subscribe()
    }
}

/// Tells a client that other tools are offered, each time that they are.
pub(crate) async fn tell(client: Peer<RoleServer>, mut memory: watch::Receiver<bool>) -> Infallible {
    while memory.changed().await.is_ok() {
        if let Err(error) = client.notify_tool_list_changed().await {
            tracing::debug!(error = %error, "An MCP client was not told that its tools changed");
        }
    }
    // Nobody switches any more: the process ends.
    std::future::pending().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_change_is_told() {
        let switch = MemorySwitch::new(true);
        let told = switch.watch();
        switch.set(true);
        assert!(!told.has_changed().unwrap());
        switch.set(false);
        assert!(told.has_changed().unwrap());
    }
}
