//! The tools that a session's host runs itself, by the host's order and by name.

use std::sync::Arc;

use crate::catalog::{Tool, Tools};

/// A host's own tools; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct HostTools {
    /// As the host sent them.
    pub tools: Tools,
    /// Their places in the order of names.
    by_name: Arc<[u32]>,
}

impl HostTools {
    /// The tool of exactly this name; of several, the first that was sent.
    pub fn get(&self, name: &str) -> Option<&Arc<Tool>> {
        let name_at = |place: &u32| self.tools[*place as usize].exposed.as_str();
        let at = self.by_name.partition_point(|place| name_at(place) < name);
        let place = self
            .by_name
            .get(at)
            .filter(|place| name_at(place) == name)?;
        Some(&self.tools[*place as usize])
    }
}

impl From<Vec<Arc<Tool>>> for HostTools {
    fn from(tools: Vec<Arc<Tool>>) -> HostTools {
        let mut by_name: Vec<u32> = (0..).take(tools.len()).collect();
        by_name.sort_by_key(|place| tools[*place as usize].exposed.as_str());
        HostTools {
            by_name: by_name.into(),
            tools: tools.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_tools_of_one_name_the_first_is_meant() {
        let tool = |name: &str, text: &str| Arc::new(Tool::host(name, Some(text), None, false));
        let tools = HostTools::from(vec![
            tool("write", "1"),
            tool("read", "2"),
            tool("write", "3"),
            tool("ask", "4"),
        ]);
        let found = |name| tools.get(name).map(|tool| tool.description.as_str());
        assert_eq!(found("write"), Some("1"));
        assert_eq!(found("read"), Some("2"));
        assert_eq!(found("ask"), Some("4"));
        for name in ["", "a", "reads", "z"] {
            assert_eq!(found(name), None, "{name}");
        }
        assert!(HostTools::default().get("ask").is_none());
    }
}
