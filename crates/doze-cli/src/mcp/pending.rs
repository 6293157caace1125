//! What an agent has asked and not been answered, and how it greeted.

use serde_json::Value;

/// Requests that are still out, and the client's greeting.
#[derive(Debug, Default)]
pub(super) struct Pending {
    ids: Vec<Value>,
    /// `initialize`, and the notification that it is over.
    greeting: Option<Value>,
    is_greeted: bool,
}

impl Pending {
    /// Notes a message of the client.
    pub(super) fn note(&mut self, message: &Value) {
        let method = message.get("method").and_then(Value::as_str);
        match (method, message.get("id")) {
            (Some(method), Some(id)) if !id.is_null() => {
                if method == "initialize" {
                    self.greeting = Some(message.clone());
                }
                self.ids.push(id.clone());
            }
            (Some("notifications/initialized"), _) => self.is_greeted = true,
            // What is called off may remain without an answer.
            (Some("notifications/cancelled"), None) => {
                message.pointer("/params/requestId").into_iter().for_each(|id| self.done(id));
            }
            _ => {}
        }
    }

    /// An answer is out.
    pub(super) fn done(&mut self, id: &Value) {
        if let Some(at) = self.ids.iter().position(|waiting| waiting == id) {
            self.ids.swap_remove(at);
        }
    }

    /// Everything that is still out; nothing is afterwards.
    pub(super) fn take(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.ids)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// What a new connection has to hear before `next`: the greeting under another id, unless `next` is one.
    pub(super) fn greeting(&self, next: &Value, id: &str) -> Vec<Value> {
        let Some(greeting) = self.greeting.as_ref().filter(|greeting| *greeting != next) else {
            return Vec::new();
        };
        let mut again = greeting.clone();
        again["id"] = id.into();
        let mut messages = vec![again];
        let is_next = next.get("method").and_then(Value::as_str) == Some("notifications/initialized");
        if self.is_greeted && !is_next {
            messages.push(serde_json::json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        }
        messages
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn requests_are_out_until_they_are_answered_and_greetings_are_repeated() {
        let mut pending = Pending::default();
        let initialize = json!({"id": 0, "method": "initialize", "params": {"x": 1}});
        pending.note(&initialize);
        assert_eq!(pending.greeting(&initialize, "again"), Vec::<Value>::new(), "it is on its way itself");
        pending.note(&json!({"method": "notifications/initialized"}));
        let call = json!({"id": "a", "method": "tools/call"});
        pending.note(&call);
        pending.note(&json!({"id": 9, "result": {}}));
        let again = pending.greeting(&call, "again");
        assert_eq!(again[0], json!({"id": "again", "method": "initialize", "params": {"x": 1}}));
        assert_eq!(again[1]["method"], "notifications/initialized");
        pending.done(&json!(0));
        pending.note(&json!({"id": "b", "method": "tools/call"}));
        pending.note(&json!({"method": "notifications/cancelled", "params": {"requestId": "b"}}));
        assert_eq!(pending.take(), [json!("a")]);
        assert!(pending.is_empty());
    }
}
