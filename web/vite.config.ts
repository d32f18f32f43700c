import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

/** The two pages: that of the traffic, which server embeds, and that of --admin, which inside does. */
const ENTRIES = { app: "index.html", admin: "admin/index.html" };

/** Where the files of an entry are built: those of the second page are apart. */
const folderOf = (name: string) => (name === "admin" ? "admin" : "assets");

/** The chunk that both pages share. */
const SHARED = "frame";

/** The chunk of what the page of the traffic needs at once. What it loads later is apart. */
const FIRST = "page";

/** The chunk of what the page of the traffic loads right after that. */
const LATER = "later";

/** Where the scripts of the two pages begin, and what is loaded right after the first picture. */
const STARTS = { app: "/src/main.tsx", admin: "/src/admin/main.tsx", later: "/src/later.ts" };

/** Loads the chunks of a page beside the script that imports them, and not after it. */
const preloadChunks: Plugin = {
  name: "preload-chunks",
  transformIndexHtml: {
    order: "post",
    handler: (_, { path }) =>
      (path.includes("admin") ? [SHARED] : [SHARED, FIRST]).map((name) => ({
        tag: "link",
        attrs: { rel: "modulepreload", href: `/assets/${name}.js` },
        injectTo: "head" as const,
      })),
  },
};

/**
 * Imports what is loaded later as the browser does. Vite would preload its style sheets, but it has none
 * of its own.
 */
const plainImports: Plugin = {
  name: "plain-imports",
  enforce: "pre",
  load: (id) =>
    id.endsWith("vite/preload-helper.js") ? "export const __vitePreload = (load) => load();" : null,
};

type ModuleInfoOf = (id: string) => { importedIds: readonly string[] } | null;

/** The modules that a page needs at once: those that are imported from its start, step by step. */
function neededBy(start: string, infoOf: ModuleInfoOf): Set<string> {
  const found = new Set<string>();
  const waiting = [start];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (found.has(id)) continue;
    found.add(id);
    waiting.push(...(infoOf(id)?.importedIds ?? []));
  }
  return found;
}

/**
 * The chunk of a module. Without this the chunks would depend on which of the parts that are loaded
 * later share a module.
 */
function chunkOf(id: string, graph: { getModuleInfo: ModuleInfoOf }): string | null {
  const infoOf: ModuleInfoOf = (module) => graph.getModuleInfo(module);
  const root = import.meta.dirname;
  const isFirst = neededBy(root + STARTS.app, infoOf).has(id);
  const isAdmin = neededBy(root + STARTS.admin, infoOf).has(id);
  // A later part may share a script with the other page, but not its style sheets.
  const isOwn = id.startsWith(`${root}/src/admin/`) || id.endsWith(".css");
  if (isAdmin && (isFirst || !isOwn)) return SHARED;
  // Small helpers that later parts share.
  const isHelper = id.startsWith(`${root}/src/format/`) && !id.endsWith("/formats.ts");
  return (isFirst && id !== root + STARTS.app) || isHelper ? FIRST : null;
}

/** The chunk of what is loaded right after the first picture, if a module is part of it. */
function laterChunkOf(id: string, graph: { getModuleInfo: ModuleInfoOf }): string | null {
  const later = neededBy(import.meta.dirname + STARTS.later, (module) =>
    graph.getModuleInfo(module),
  );
  return later.has(id) ? LATER : null;
}

/** The chunks with more than one start. Each group takes what those after it need of it. */
const GROUPS = [
  { name: chunkOf, debugName: "needed at once", priority: 3 },
  { name: laterChunkOf, debugName: "needed soon", priority: 2 },
  // The lists of lines are in a tab and in a story, and so is what rules did.
  { name: "lines", test: /\/src\/lines\//, priority: 1 },
  // Beside blocks stands what rules would have done.
  { name: "rules", test: /\/src\/(rules|blocks)\//, priority: 1 },
  {
    name: "rare",
    test: /\/(duplicates|Duplicates|FailedFiles|Freeable|FormatBox|Samples|MarkedLine)\.tsx?$/,
    priority: 1,
  },
  // Files are sent when they are dropped, and again for rules that look at lines.
  { name: "uploads", test: /\/src\/upload\//, priority: 1 },
];

// The build is embedded in the binary and compared byte for byte with a fresh one, so
// its file names are fixed and nothing in it depends on the machine.
export default defineConfig({
  base: "/",
  plugins: [plainImports, preloadChunks],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: "es2022",
    sourcemap: false,
    // Its helper would be one more script to justify to the content security policy; the plugin
    // above names the one file that there is to preload.
    modulePreload: false,
    // A data: URL in a style sheet would be allowed, but a file of our own is plainer.
    assetsInlineLimit: 0,
    rolldownOptions: {
      input: ENTRIES,
      output: {
        entryFileNames: ({ name }) => `${folderOf(name)}/${name}.js`,
        chunkFileNames: "assets/[name].js",
        codeSplitting: { groups: GROUPS },
        assetFileNames: ({ names }) =>
          `${folderOf((names[0] ?? "").split(".")[0] ?? "")}/[name][extname]`,
      },
    },
  },
  server: {
    proxy: { "/api": { target: "http://127.0.0.1:8181", ws: true } },
  },
  // The time limit is for a test that would hang, also on a busy machine.
  test: { include: ["test/**/*.test.ts"], environment: "node", testTimeout: 60_000 },
});
