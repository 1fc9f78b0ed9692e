//! All paths that a Rust file names: imports, nested ones unfolded, paths in code, and paths in macros.

use syn::{
    UseTree,
    visit::{self, Visit},
};

/// Collects the paths of one file as lists of their segments; `super`, `self` and `crate` are resolved.
pub(crate) fn of(module: &[String], text: &str) -> Vec<Vec<String>> {
    let file = syn::parse_file(text).expect("a Rust file");
    let mut collector = Collector {
        module: module.to_vec(),
        paths: Vec::new(),
    };
    collector.visit_file(&file);
    collector.paths
}

struct Collector {
    /// The module that is being read, from the root of the crate.
    module: Vec<String>,
    paths: Vec<Vec<String>>,
}

impl Collector {
    fn add(&mut self, segments: &[String]) {
        let Some(path) = self.resolve(segments) else {
            return;
        };
        self.paths.push(path);
    }

    /// The path from the root: `crate` and what follows, or the name of another crate and what follows.
    fn resolve(&self, segments: &[String]) -> Option<Vec<String>> {
        let mut rest = segments;
        if !matches!(rest.first().map(String::as_str), Some("super" | "self")) {
            return (!rest.is_empty()).then(|| rest.to_vec());
        }
        let mut module = self.module.clone();
        while let Some(first) = rest.first() {
            match first.as_str() {
                "self" => {}
                "super" => drop(module.pop()?),
                _ => break,
            }
            rest = rest.get(1..)?;
        }
        Some([&["crate".to_owned()], module.as_slice(), rest].concat())
    }

    fn unfold(&mut self, tree: &UseTree, before: &[String]) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.unfold(&path.tree, &with(&path.ident)),
            UseTree::Name(name) => self.add(&with(&name.ident)),
            UseTree::Rename(rename) => self.add(&with(&rename.ident)),
            UseTree::Glob(_) => self.add(before),
            UseTree::Group(group) => group
                .items
                .iter()
                .for_each(|tree| self.unfold(tree, before)),
        }
    }
}

impl<'ast> Visit<'ast> for Collector {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.unfold(&item.tree, &[]);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<_> = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        if segments.len() > 1 {
            self.add(&segments);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        // The words of a macro are no syntax tree: take every run of names with `::` between.
        let text = call.tokens.to_string().replace(" :: ", "::");
        for word in
            text.split(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != ':')
        {
            let segments: Vec<_> = word
                .split("::")
                .filter(|name| !name.is_empty())
                .map(ToOwned::to_owned)
                .collect();
            if segments.len() > 1 {
                self.add(&segments);
            }
        }
        visit::visit_macro(self, call);
    }
}

#[test]
fn paths_are_found_wherever_they_stand() {
    let text = "
        use crate::{base::{Clock, text::*}, wire as w};
        use super::sibling::Thing;
        fn f(a: crate::feed::Sink) -> russh::Error { format!(\"{}\", crate::tui::run()); g() }
        mod tests { use super::super::super::hub::Hub; }
    ";
    let module = ["record".to_owned(), "reader".to_owned()];
    let found: Vec<_> = of(&module, text)
        .into_iter()
        .map(|path| path.join("::"))
        .collect();
    let wanted = [
        "crate::base::Clock",
        "crate::base::text",
        "crate::wire",
        "crate::record::sibling::Thing",
        "crate::feed::Sink",
        "russh::Error",
        "crate::tui::run",
        "crate::hub::Hub",
    ];
    assert_eq!(found, wanted);
}
