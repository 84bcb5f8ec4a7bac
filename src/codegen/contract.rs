//! What the wire contract looks like to a client: methods and types, with their directions and documentation.

/// The whole contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contract {
    pub protocol_version: u32,
    /// The host asks, the sidecar answers.
    pub requests: Vec<Method>,
    /// The sidecar asks, the host answers.
    pub host_requests: Vec<Method>,
    /// The sidecar tells.
    pub notifications: Vec<Method>,
    /// In the order in which the methods mention them.
    pub types: Vec<Type>,
}

impl Contract {
    pub fn find_type(&self, name: &str) -> Option<&Type> {
        self.types.iter().find(|it| it.name == name)
    }
}

/// A request or a notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Method {
    /// As on the wire.
    pub name: String,
    pub doc: String,
    /// Name of the struct of its params.
    pub params: String,
    /// `Nothing` for a notification.
    pub result: Shape,
}

/// A type with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Type {
    pub name: String,
    pub doc: String,
    pub kind: TypeKind,
    /// Hosts send it.
    pub inbound: bool,
    /// The sidecar sends it.
    pub outbound: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypeKind {
    Struct {
        fields: Vec<Field>,
        /// Set for a struct that is one case of a union.
        tag: Option<Tag>,
    },
    /// A closed list of words on the way in, an open one on the way out.
    Enum { values: Vec<EnumValue> },
    /// Told apart by a member that all cases have.
    Union { tag: String, cases: Vec<Case> },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    pub member: String,
    pub value: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnumValue {
    pub value: String,
    pub doc: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    pub value: String,
    /// Name of the struct that holds the other members.
    pub type_name: String,
    pub doc: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// As on the wire.
    pub name: String,
    pub doc: String,
    pub shape: Shape,
    /// Always there; a field that is not required may also be `null`, which means the same as absent.
    pub required: bool,
    /// Only for a required field: `null` says something.
    pub nullable: bool,
}

/// What a value looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    Nothing,
    Bool,
    Integer(Width),
    Number,
    String,
    /// Any JSON.
    Any,
    /// An object with any members.
    Object,
    List(Box<Shape>),
    /// An object whose members are all alike.
    Map(Box<Shape>),
    /// A type with a name.
    Named(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    Unsigned32,
    Unsigned64,
}
