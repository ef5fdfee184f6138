//! Trees that stand elsewhere and are meant here: modules of the same plan, and fragments in files
//! beside it. They are put in their places before anything else is read.

use std::path::Path;

use plumb_scenario::Reach;

use super::tree::{Node, read};

/// Modules within modules at most.
const DEPTH_MAX: usize = 16;
/// Elements that are put in at most.
const NODES_MAX: usize = 200_000;
/// Bytes of a fragment that is read at most.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// The attribute in which a controller says why nothing was put into it.
pub(super) const EMPTY: &str = "plumb-empty";

/// Puts modules and fragments of files in `folder` where `root` asks for them.
pub(super) fn put_in(root: &mut Node, folder: &Path) {
    let whole = root.clone();
    let mut insertion = Insertion { whole: &whole, folder, nodes: 0 };
    insertion.walk(root, 0);
}

struct Insertion<'a> {
    /// The plan as it was read.
    whole: &'a Node,
    folder: &'a Path,
    nodes: usize,
}

impl Insertion<'_> {
    fn walk(&mut self, tree: &mut Node, depth: usize) {
        let mut at = 0;
        while at < tree.children.len() {
            let kind = kind(&tree.children[at]);
            let is_asked = tree.children[at].attribute("enabled") != "false";
            let found = match kind {
                "ModuleController" if is_asked => Some(self.module(&tree.children[at])),
                "IncludeController" if is_asked => Some(self.fragment(&tree.children[at])),
                _ => None,
            };
            match found {
                Some(Ok(mut below)) if depth < DEPTH_MAX && self.fits(&below) => {
                    self.walk(&mut below, depth + 1);
                    put(tree, at, below);
                    at += 1; // it is done
                }
                Some(Ok(_)) => say(tree, at, "it holds itself, or more elements than are read"),
                Some(Err(why)) => say(tree, at, &why),
                None => self.walk(&mut tree.children[at], depth),
            }
            at += 1;
        }
    }

    fn fits(&mut self, tree: &Node) -> bool {
        self.nodes = self.nodes.saturating_add(count(tree));
        self.nodes <= NODES_MAX
    }

    /// The module that a controller names by its path through the plan.
    fn module(&self, controller: &Node) -> Result<Node, String> {
        let path = controller
            .children
            .iter()
            .find(|it| it.attribute("name") == "ModuleController.node_path");
        let names: Vec<&str> = path.map_or_else(Vec::new, |path| {
            path.children.iter().map(|name| name.text.trim()).collect()
        });
        let words = names.join(" / ");
        let plan = self.whole.children.iter().find(|it| it.name == "hashTree");
        let pairs = plan.map(pairs).unwrap_or_default();
        let (plan, below) = pairs.first().ok_or("the plan is empty")?;
        // the first name is that of the root, which has none of its own in the file
        let from = names.iter().position(|name| *name == plan.attribute("testname"));
        let mut tree = *below;
        let mut found = None;
        for name in &names[from.map_or(1.min(names.len()), |at| at + 1)..] {
            let next = tree
                .into_iter()
                .flat_map(self::pairs)
                .find(|(it, _)| it.attribute("testname") == *name);
            let (element, below) = next.ok_or_else(|| format!("there is no module `{words}`"))?;
            found = Some((element, below));
            tree = below;
        }
        let (element, below) = found.ok_or("it names no module")?;
        let mut element = element.clone();
        element.attributes.insert("enabled".into(), "true".into());
        let mut out = Node { name: "hashTree".into(), line: controller.line, ..Node::default() };
        // what holds a module is a controller like any other; a group of users is only its steps
        if kind(&element).ends_with("ThreadGroup") || kind(&element) == "TestFragmentController" {
            element.name = "GenericController".into();
        }
        out.children = vec![element, below.cloned().unwrap_or(hash_tree(controller.line))];
        Ok(out)
    }

    /// The fragment that stands in a file beside the plan.
    fn fragment(&self, controller: &Node) -> Result<Node, String> {
        let named = controller
            .children
            .iter()
            .find(|it| it.attribute("name") == "IncludeController.includepath");
        let path = named.map_or("", |named| named.text.trim());
        let refused = |cause: String| format!("its file `{path}`: {cause}");
        let file = Reach::of(self.folder).file(Path::new(path)).map_err(|it| {
            refused(match it {
                plumb_scenario::OutOfReach::NotFound(cause) => cause.to_string(),
                plumb_scenario::OutOfReach::Elsewhere { .. } => {
                    "it lies outside of the folder of the plan".into()
                }
            })
        })?;
        let size = std::fs::metadata(&file).map_err(|cause| refused(cause.to_string()))?.len();
        if size > FILE_BYTES_MAX {
            return Err(refused("it is larger than 64 MiB".into()));
        }
        let text = std::fs::read_to_string(&file).map_err(|cause| refused(cause.to_string()))?;
        let root = read(&text).map_err(refused)?;
        let tree = root.children.into_iter().find(|it| it.name == "hashTree");
        let mut out = hash_tree(controller.line);
        // the fragment, or what stands below a whole plan
        for (element, below) in tree.as_ref().map(pairs).unwrap_or_default() {
            let below = below.cloned().unwrap_or(hash_tree(controller.line));
            match kind(element) {
                "TestFragmentController" | "TestPlan" => out.children.extend(below.children),
                _ => out.children.extend([element.clone(), below]),
            }
        }
        flatten_groups(&mut out);
        stand_at(&mut out, controller.line);
        Ok(out)
    }
}

fn hash_tree(line: usize) -> Node {
    Node { name: "hashTree".into(), line, ..Node::default() }
}

/// Kind of an element, without the name of its package.
fn kind(node: &Node) -> &str {
    node.name.rsplit('.').next().unwrap_or_default()
}

/// The elements of a tree, each with what stands below it.
fn pairs(tree: &Node) -> Vec<(&Node, Option<&Node>)> {
    let mut pairs: Vec<(&Node, Option<&Node>)> = Vec::new();
    for node in &tree.children {
        match pairs.last_mut() {
            Some((_, below @ None)) if node.name == "hashTree" => *below = Some(node),
            _ if node.name == "hashTree" => {}
            _ => pairs.push((node, None)),
        }
    }
    pairs
}

/// Fragments and groups that stand in a fragment are the steps in them.
fn flatten_groups(tree: &mut Node) {
    for node in &mut tree.children {
        if kind(node).ends_with("ThreadGroup") || kind(node) == "TestFragmentController" {
            node.name = "GenericController".into();
            node.attributes.insert("enabled".into(), "true".into());
        }
    }
}

/// Lines of another file would mislead: all of it stands where it was put.
fn stand_at(node: &mut Node, line: usize) {
    node.line = line;
    node.children.iter_mut().for_each(|child| stand_at(child, line));
}

fn count(node: &Node) -> usize {
    1 + node.children.iter().map(count).sum::<usize>()
}

/// Makes the element at `at` a controller around `below`.
fn put(tree: &mut Node, at: usize, below: Node) {
    "GenericController".clone_into(&mut tree.children[at].name);
    match tree.children.get_mut(at + 1) {
        Some(next) if next.name == "hashTree" => {
            let own = std::mem::take(&mut next.children);
            *next = below;
            next.children.splice(0..0, own);
        }
        _ => tree.children.insert(at + 1, below),
    }
}

fn say(tree: &mut Node, at: usize, why: &str) {
    tree.children[at].attributes.insert(EMPTY.into(), why.into());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str, folder: &Path) -> Node {
        let mut root = read(text).unwrap();
        put_in(&mut root, folder);
        root
    }

    fn names(node: &Node, all: &mut Vec<String>) {
        let said = node.attribute(EMPTY);
        if !node.attribute("testname").is_empty() {
            all.push(format!("{} {} {}{said}", node.line, kind(node), node.attribute("testname")));
        }
        node.children.iter().for_each(|child| names(child, all));
    }

    fn all(node: &Node) -> Vec<String> {
        let mut found = Vec::new();
        names(node, &mut found);
        found
    }

    fn module(path: &[&str]) -> String {
        let path: String =
            path.iter().map(|name| format!("<stringProp>{name}</stringProp>")).collect();
        format!(
            "<ModuleController testname='m'><collectionProp name='ModuleController.node_path'>{path}</collectionProp></ModuleController><hashTree/>"
        )
    }

    #[test]
    fn modules_are_put_where_they_are_meant() {
        let folder = tempfile::tempdir().unwrap();
        let text = |path: &[&str]| {
            format!(
                "<jmeterTestPlan><hashTree><TestPlan testname='p'/><hashTree>\n<ThreadGroup testname='g'/><hashTree>{}</hashTree>\n<TestFragmentController testname='f' enabled='false'/><hashTree><LoopController testname='l'/><hashTree><HTTPSamplerProxy testname='r'/><hashTree/></hashTree></hashTree></hashTree></hashTree></jmeterTestPlan>",
                module(path)
            )
        };
        for path in [&["Test Plan", "p", "f", "l"][..], &["p", "f", "l"]] {
            let found = all(&plan(&text(path), folder.path()));
            assert_eq!(
                found[2..5],
                ["2 GenericController m", "3 LoopController l", "3 HTTPSamplerProxy r"]
            );
        }
        let whole = all(&plan(&text(&["Test Plan", "p", "f"]), folder.path()));
        assert_eq!(whole[3], "3 GenericController f");
        let gone = all(&plan(&text(&["Test Plan", "p", "x"]), folder.path()));
        assert!(gone[2].contains("there is no module `Test Plan / p / x`"), "{gone:?}");
    }

    #[test]
    fn a_module_that_holds_itself_ends() {
        let folder = tempfile::tempdir().unwrap();
        let inside = module(&["Test Plan", "p", "g"]).repeat(2);
        let text = format!(
            "<jmeterTestPlan><hashTree><TestPlan testname='p'/><hashTree><ThreadGroup testname='g'/><hashTree>{inside}</hashTree></hashTree></hashTree></jmeterTestPlan>"
        );
        let found = all(&plan(&text, folder.path()));
        assert!(found.iter().any(|name| name.contains("it holds itself")), "{}", found.len());
    }

    #[test]
    fn fragments_of_files_beside_the_plan_are_read_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("in");
        std::fs::create_dir(&inner).unwrap();
        let fragment = "<jmeterTestPlan><hashTree><TestFragmentController testname='f'/><hashTree>\n\n<HTTPSamplerProxy testname='r'/><hashTree/></hashTree></hashTree></jmeterTestPlan>";
        std::fs::write(inner.join("f.jmx"), fragment).unwrap();
        std::fs::write(folder.path().join("out.jmx"), fragment).unwrap();
        std::fs::write(inner.join("broken.jmx"), "<a>").unwrap();
        let put = |path: &str| {
            let text = format!(
                "<jmeterTestPlan><hashTree><TestPlan testname='p'/><hashTree><IncludeController testname='i'><stringProp name='IncludeController.includepath'>{path}</stringProp></IncludeController><hashTree/></hashTree></hashTree></jmeterTestPlan>"
            );
            all(&plan(&text, &inner))
        };
        assert_eq!(put("f.jmx")[1..], ["1 GenericController i", "1 HTTPSamplerProxy r"]);
        for (path, why) in [
            ("../out.jmx", "outside of the folder of the plan"),
            ("gone.jmx", "No such file"),
            ("broken.jmx", "its file `broken.jmx`: "),
        ] {
            let found = put(path);
            assert!(found.len() == 2 && found[1].contains(why), "{found:?}");
        }
    }
}
