import { describe, expect, it } from "vitest";
import { FILES_MAX, filesOf } from "../src/views/files";

type Tree = { [name: string]: Tree | string };

/** Entries as browsers provide them: a folder returns two at a time, not sorted. */
function entryOf(name: string, node: Tree | string, parent: string): FileSystemEntry {
  const fullPath = `${parent}/${name}`;
  const unreadable = node === "unreadable";
  if (typeof node === "string") {
    const file = (done: (file: File) => void, fail: (error: Error) => void) =>
      unreadable ? fail(new Error("gone")) : done(new File([node], name));
    return { name, fullPath, isFile: true, isDirectory: false, file } as unknown as FileSystemEntry;
  }
  const createReader = () => {
    const left = Object.entries(node).map(([child, inner]) => entryOf(child, inner, fullPath));
    return { readEntries: (done: (entries: FileSystemEntry[]) => void) => done(left.splice(0, 2)) };
  };
  return {
    name,
    fullPath,
    isFile: false,
    isDirectory: true,
    createReader,
  } as unknown as FileSystemEntry;
}

function dropOf(tree: Tree): DataTransfer {
  const items = Object.entries(tree).map(([name, node]) => ({
    kind: "file",
    webkitGetAsEntry: () => entryOf(name, node, ""),
    getAsFile: () => (typeof node === "string" ? new File([node], name) : null),
  }));
  return { items: [{ kind: "string" }, ...items] } as unknown as DataTransfer;
}

const namesOf = async (tree: Tree) => (await filesOf(dropOf(tree))).files.map(({ name }) => name);

describe("a drop", () => {
  it("lists files in the order of their names, including those in folders", async () => {
    const logs = {
      "access.log.10": "c",
      "access.log.2": "b",
      "access.log": "a",
      ".hidden": "x",
      old: { "a.log": "d", b: {} },
    };
    expect(await namesOf({ zoo: "z", logs, a: "1" })).toEqual([
      "a",
      "logs/access.log",
      "logs/access.log.2",
      "logs/access.log.10",
      "logs/old/a.log",
      "zoo",
    ]);
  });

  it("reads a hidden file that was dropped directly", async () => {
    expect(await namesOf({ ".log": "x" })).toEqual([".log"]);
  });

  it("reports the files that it left out", async () => {
    const many = Object.fromEntries(
      Array.from({ length: FILES_MAX + 1 }, (_, at) => [`${at}`, "x"]),
    );
    const dropped = await filesOf(dropOf({ many }));
    expect(dropped.files).toHaveLength(FILES_MAX);
    expect(dropped.notice).toMatch(/more than/);
    expect((await filesOf(dropOf({ empty: {} }))).notice).toMatch(/no file/);
    expect((await filesOf(dropOf({ a: { b: "unreadable", c: "x" } }))).notice).toMatch(
      /^b could not be read/,
    );
    expect((await filesOf(dropOf({ a: "x" }))).notice).toBeNull();
  });
});
