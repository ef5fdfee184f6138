//! Elements of a plan: what an element says of itself, and the pairs in which a plan holds them.

use plumb_draft::note::Place;

use super::tree::Node;

/// An element with what stands below it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element<'a> {
    node: &'a Node,
    /// The `hashTree` that follows it.
    below: Option<&'a Node>,
}

impl<'a> Element<'a> {
    /// The elements of a `hashTree`: each is followed by the tree of what stands below it.
    pub(super) fn of_tree(tree: &'a Node) -> Vec<Self> {
        let mut elements: Vec<Self> = Vec::new();
        let mut follows = false;
        for node in &tree.children {
            if node.name != "hashTree" {
                elements.push(Self { node, below: None });
                follows = true;
            } else if let Some(last) = elements.last_mut().filter(|_| follows) {
                last.below = Some(node);
                follows = false;
            }
        }
        elements
    }

    /// The elements below it, those that are disabled left out.
    pub(super) fn below(&self) -> Vec<Self> {
        let below = self.below.map(Self::of_tree).unwrap_or_default();
        below.into_iter().filter(Self::is_enabled).collect()
    }

    /// Its kind, `ThreadGroup` and the like; some versions write the whole name of the class.
    pub(super) fn kind(&self) -> &'a str {
        self.node.name.rsplit('.').next().unwrap_or_default()
    }

    /// An attribute; absent ones are empty.
    pub(super) fn attribute(&self, name: &str) -> &'a str {
        self.node.attribute(name)
    }

    /// Its window, which tells elements of one kind apart.
    pub(super) fn gui(&self) -> &'a str {
        self.node.attribute("guiclass")
    }

    /// What people call it.
    pub(super) fn name(&self) -> &'a str {
        self.node.attribute("testname")
    }

    /// What tells it from every other element of its tree.
    pub(super) fn identity(&self) -> usize {
        std::ptr::from_ref(self.node).addr()
    }

    pub(super) fn is_enabled(&self) -> bool {
        self.node.attribute("enabled") != "false"
    }

    pub(super) fn place(&self) -> Place {
        Place::Line(self.node.line)
    }

    /// Kind and name, for people.
    pub(super) fn what(&self) -> String {
        format!("{} \"{}\"", self.kind(), self.name())
    }

    /// Kind, name and line, for a comment.
    pub(super) fn remark(&self) -> String {
        format!("{}, {}", self.what(), self.place())
    }

    /// A property, as it is written; `None` when it is absent.
    pub(super) fn given(&self, name: &str) -> Option<&'a str> {
        property(self.node, name)
    }

    /// A property, as it is written; absent ones are empty.
    pub(super) fn text(&self, name: &str) -> &'a str {
        self.given(name).unwrap_or_default()
    }

    /// True for `true`.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.text(name).trim() == "true"
    }

    /// The element in the property `name`.
    pub(super) fn inner(&self, name: &str) -> Option<Element<'a>> {
        let node = self.node.children.iter().find(|node| node.attribute("name") == name)?;
        Some(Element { node, below: None })
    }

    /// The elements of the collection `name`.
    pub(super) fn members(&self, name: &str) -> Vec<Element<'a>> {
        let Some(list) = self.inner(name) else { return Vec::new() };
        list.node.children.iter().map(|node| Element { node, below: None }).collect()
    }

    /// The arguments of a request, those that are switched off left out.
    pub(super) fn arguments(&self) -> Vec<Element<'a>> {
        let list = self.inner("HTTPsampler.Arguments");
        let mut all = list.map(|list| list.members("Arguments.arguments")).unwrap_or_default();
        all.retain(Self::is_enabled);
        all
    }

    /// The texts of all its properties, whatever they are called.
    pub(super) fn all_texts(&self) -> Vec<&'a str> {
        let mut open = vec![self.node];
        let mut texts = Vec::new();
        while let Some(node) = open.pop() {
            texts.push(node.text.as_str());
            open.extend(node.children.iter().rev());
        }
        texts
    }

    /// The texts directly inside it.
    pub(super) fn own_texts(&self) -> Vec<&'a str> {
        self.node.children.iter().map(|node| node.text.as_str()).collect()
    }

    /// The texts of the collection `name`.
    pub(super) fn texts(&self, name: &str) -> Vec<&'a str> {
        self.members(name).into_iter().map(|member| member.node.text.as_str()).collect()
    }
}

/// The text of a property. `doubleProp` and its like hold name and value as elements.
fn property<'a>(node: &'a Node, name: &str) -> Option<&'a str> {
    let inside = |node: &'a Node, name: &str| {
        node.children.iter().find(|child| child.name == name).map(|child| child.text.as_str())
    };
    node.children.iter().find_map(|child| {
        if child.attribute("name") == name {
            Some(inside(child, "value").unwrap_or(&child.text))
        } else if inside(child, "name") == Some(name) {
            inside(child, "value")
        } else {
            None
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::read;

    #[test]
    fn elements_stand_in_pairs_with_their_trees() {
        let tree = read(
            "<hashTree><hashTree/><A testname='a'/><hashTree><B enabled='false'/><hashTree/>\n\
             <C/></hashTree><D/><E/><hashTree/><hashTree><F/></hashTree></hashTree>",
        )
        .unwrap();
        let elements = Element::of_tree(&tree);
        let kinds: Vec<&str> = elements.iter().map(Element::kind).collect();
        assert_eq!(kinds, ["A", "D", "E"]);
        let below: Vec<&str> = elements[0].below().iter().map(Element::kind).collect();
        assert_eq!(below, ["C"]);
        assert_eq!(elements[0].remark(), "A \"a\", line 1");
        assert!(elements[1].below().is_empty() && elements[2].below().is_empty());
    }

    #[test]
    fn properties_have_two_forms() {
        let tree = read(
            "<hashTree><A><stringProp name='x'>1</stringProp><doubleProp><name>y</name>\
             <value>2.5</value><savedValue>0.0</savedValue></doubleProp><boolProp name='z'>true\
             </boolProp><FloatProperty><name>p</name><value>20</value></FloatProperty>\
             <collectionProp name='list'><stringProp name='1'>a</stringProp></collectionProp></A>\
             </hashTree>",
        )
        .unwrap();
        let element = Element::of_tree(&tree)[0];
        assert_eq!((element.text("x"), element.text("y"), element.text("p")), ("1", "2.5", "20"));
        assert_eq!((element.given("none"), element.text("none")), (None, ""));
        assert!(element.flag("z") && !element.flag("x"));
        assert_eq!(element.texts("list"), ["a"]);
    }
}
