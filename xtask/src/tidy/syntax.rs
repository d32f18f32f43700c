//! The paths that a Rust source file names, read from its syntax tree.
//!
//! Reading the tree finds `use std::{fs, sync::Mutex}`, a path in the middle of an expression and
//! a path in the arguments of a macro. A search for text finds only one spelling. Code under
//! `#[cfg(test)]` is left out.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use syn::visit::{self, Visit};

/// Imports that lead to other imports are followed up to this depth.
const IMPORT_DEPTH_MAX: usize = 8;

/// A path as it is written, and the place where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedPath {
    /// The names between the colons. A glob import ends with `*`.
    pub(super) segments: Vec<String>,
    /// The inline modules around it, outermost first.
    pub(super) inside: Vec<String>,
    /// The line, counted from 1.
    pub(super) line: usize,
}

/// What the checks need to know about one source file.
#[derive(Debug, Default)]
pub(super) struct Syntax {
    pub(super) paths: Vec<NamedPath>,
    /// Lines with a `pub use` that ends with a glob.
    pub(super) glob_exports: Vec<usize>,
    /// Modules of other files that are compiled for tests only.
    pub(super) test_modules: Vec<String>,
    /// By inline module and local name: the imported path.
    imports: BTreeMap<(Vec<String>, String), Vec<String>>,
}

impl Syntax {
    /// Parses a file. An error is a syntax error of the file.
    pub(super) fn parse(text: &str) -> Result<Self, syn::Error> {
        let mut collector = Collector::default();
        collector.visit_file(&syn::parse_file(text)?);
        Ok(collector.syntax)
    }

    /// The path that a local name stands for, if the name is imported.
    pub(super) fn import(&self, inside: &[String], name: &str) -> Option<&[String]> {
        self.imports.get(&(inside.to_vec(), name.to_owned())).map(Vec::as_slice)
    }

    /// The segments of a path, with an imported first name replaced by the path it stands for.
    pub(super) fn expanded(&self, path: &NamedPath) -> Vec<String> {
        let mut segments = path.segments.clone();
        for _ in 0..IMPORT_DEPTH_MAX {
            let Some(target) = segments.first().and_then(|first| self.import(&path.inside, first))
            else {
                break;
            };
            if target.first() == segments.first() {
                break;
            }
            segments.splice(..1, target.iter().cloned());
        }
        segments
    }
}

#[derive(Default)]
struct Collector {
    syntax: Syntax,
    inside: Vec<String>,
}

impl Collector {
    fn push(&mut self, segments: Vec<String>, span: Span) {
        let (inside, line) = (self.inside.clone(), span.start().line);
        self.syntax.paths.push(NamedPath { segments, inside, line });
    }

    fn import(&mut self, name: String, target: Vec<String>, span: Span) {
        self.syntax.imports.insert((self.inside.clone(), name), target.clone());
        self.push(target, span);
    }

    fn walk_use(&mut self, tree: &syn::UseTree, mut path: Vec<String>, is_public: bool) {
        match tree {
            syn::UseTree::Path(part) => {
                path.push(part.ident.to_string());
                self.walk_use(&part.tree, path, is_public);
            }
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.walk_use(tree, path.clone(), is_public);
                }
            }
            syn::UseTree::Name(name) => self.import_as(&name.ident, &name.ident, path),
            syn::UseTree::Rename(rename) => self.import_as(&rename.ident, &rename.rename, path),
            syn::UseTree::Glob(glob) => {
                let span = glob.star_token.spans[0];
                if is_public {
                    self.syntax.glob_exports.push(span.start().line);
                }
                path.push("*".to_owned());
                self.push(path, span);
            }
        }
    }

    /// Imports `path::name`. `self` stands for the path, and is known by its last name.
    fn import_as(&mut self, name: &syn::Ident, local: &syn::Ident, mut path: Vec<String>) {
        let mut local_name = local.to_string();
        if name != "self" {
            path.push(name.to_string());
        } else if local == "self" {
            local_name = path.last().cloned().unwrap_or_default();
        }
        self.import(local_name, path, name.span());
    }

    /// Paths among tokens: the arguments of macros and attributes are not parsed.
    fn walk_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let (mut start, mut colons) = (Span::call_site(), 0);
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.push_if_any(&mut path, start);
                        start = name.span();
                    }
                    path.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    // `std::{fs, io}` among tokens is an import in a macro.
                    let prefix = if colons == 2 && group.delimiter() == Delimiter::Brace {
                        std::mem::take(&mut path)
                    } else {
                        Vec::new()
                    };
                    self.push_if_any(&mut path, start);
                    let first = self.syntax.paths.len();
                    self.walk_tokens(group.stream());
                    for nested in &mut self.syntax.paths[first..] {
                        nested.segments.splice(..0, prefix.iter().cloned());
                    }
                    colons = 0;
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {
                    self.push_if_any(&mut path, start);
                    colons = 0;
                }
            }
        }
        self.push_if_any(&mut path, start);
    }

    fn push_if_any(&mut self, path: &mut Vec<String>, span: Span) {
        if !path.is_empty() {
            self.push(std::mem::take(path), span);
        }
    }
}

impl<'ast> Visit<'ast> for Collector {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_test(attributes(item)) {
            visit::visit_item(self, item);
        } else if let syn::Item::Mod(module) = item
            && module.content.is_none()
        {
            self.syntax.test_modules.push(module.ident.to_string());
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !is_test(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        self.inside.push(module.ident.to_string());
        visit::visit_item_mod(self, module);
        self.inside.pop();
    }

    fn visit_item_use(&mut self, import: &'ast syn::ItemUse) {
        let is_public = matches!(import.vis, syn::Visibility::Public(_));
        self.walk_use(&import.tree, Vec::new(), is_public);
    }

    fn visit_item_extern_crate(&mut self, import: &'ast syn::ItemExternCrate) {
        let local = import.rename.as_ref().map_or(&import.ident, |(_, name)| name);
        self.import(local.to_string(), vec![import.ident.to_string()], import.ident.span());
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names = path.segments.iter().map(|segment| segment.ident.to_string());
        if let Some(first) = path.segments.first() {
            self.push(names.collect(), first.ident.span());
        }
        visit::visit_path(self, path);
    }

    /// `pub(in path)` depends on nothing.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.walk_tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }

    fn visit_meta_list(&mut self, list: &'ast syn::MetaList) {
        self.walk_tokens(list.tokens.clone());
        visit::visit_meta_list(self, list);
    }
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Whether `#[cfg(test)]` is among the attributes.
fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) if list.path.is_ident("cfg") => list.tokens.to_string() == "test",
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::Syntax;

    /// The paths of a snippet, with imported names replaced.
    fn paths(text: &str) -> Vec<String> {
        let syntax = Syntax::parse(text).unwrap();
        syntax.paths.iter().map(|path| syntax.expanded(path).join("::")).collect()
    }

    #[test]
    fn every_spelling_of_an_import_is_found() {
        for (text, path) in [
            ("use std::sync::Mutex;", "std::sync::Mutex"),
            ("use std::sync::{Arc, Mutex, PoisonError};", "std::sync::Mutex"),
            ("use {std::{fs, io}, core::fmt};", "std::fs"),
            ("use std::io::{self, Read};", "std::io"),
            ("use ::std::io as input;", "std::io"),
            ("use std::sync::*;", "std::sync::*"),
            ("extern crate tokio as runtime;", "tokio"),
            ("fn run() { use std::fs; }", "std::fs"),
            ("mod inner { use std::fs; }", "std::fs"),
        ] {
            assert!(paths(text).contains(&path.to_owned()), "{text}: {:?}", paths(text));
        }
    }

    #[test]
    fn paths_are_found_wherever_they_stand() {
        for (text, path) in [
            ("fn f() -> std::io::Result<()> { Ok(()) }", "std::io::Result"),
            ("fn f(x: Vec<std::fs::File>) {}", "std::fs::File"),
            ("fn f() { let x = std::thread::spawn(g); }", "std::thread::spawn"),
            ("fn f() { println!(\"{}\", std::fs::read(p).len()); }", "std::fs::read"),
            ("macro_rules! m { () => { use std::{fs, io}; } }", "std::io"),
            ("#[derive(Debug, serde::Serialize)] struct S;", "serde::Serialize"),
            (
                "#[cfg_attr(feature = \"x\", derive(serde::Serialize))] struct S;",
                "serde::Serialize",
            ),
            ("use std::sync; static S: sync::Mutex<u8> = sync::Mutex::new(1);", "std::sync::Mutex"),
            ("use std as s; fn f() { s::fs::read(p); }", "std::fs::read"),
        ] {
            assert!(paths(text).contains(&path.to_owned()), "{text}: {:?}", paths(text));
        }
    }

    #[test]
    fn tests_comments_and_strings_are_left_out() {
        for text in [
            "#[cfg(test)] mod tests { use std::fs; }",
            "#[cfg(test)] use std::fs;",
            "impl S { #[cfg(test)] fn f() { std::fs::read(p); } }",
            "// std::fs\n/// std::fs\nfn f() {}",
            "const S: &str = \"std::fs\";",
        ] {
            assert!(!paths(text).iter().any(|path| path.contains("fs")), "{text}");
        }
        // Code that is compiled outside of tests counts.
        assert!(paths("#[cfg(not(test))] use std::fs;").contains(&"std::fs".to_owned()));
    }

    #[test]
    fn modules_of_tests_and_glob_exports_are_listed() {
        let text = "#[cfg(test)]\nmod oracle;\npub use a::*;\nuse b::*;\npub(crate) use c::*;";
        let syntax = Syntax::parse(text).unwrap();
        assert_eq!(syntax.test_modules, ["oracle"]);
        assert_eq!(syntax.glob_exports, [3]);
    }

    #[test]
    fn lines_count_from_one() {
        let syntax = Syntax::parse("\nuse std::fs;\n").unwrap();
        assert_eq!(syntax.paths[0].line, 2);
    }
}
