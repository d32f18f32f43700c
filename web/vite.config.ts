import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

/** The two pages: that of the traffic, which server embeds, and that of --admin, which inside does. */
const ENTRIES = { app: "index.html", admin: "admin/index.html" };

/** Where the files of an entry are built: those of the second page are apart. */
const folderOf = (name: string) => (name === "admin" ? "admin" : "assets");

/** The chunk that both pages share. */
const SHARED = "frame";

/** Loads the shared chunk beside the script that imports it, and not after it. */
const preloadShared: Plugin = {
  name: "preload-shared",
  transformIndexHtml: {
    order: "post",
    handler: () => [
      {
        tag: "link",
        attrs: { rel: "modulepreload", href: `/assets/${SHARED}.js` },
        injectTo: "head",
      },
    ],
  },
};

// The build is embedded in the binary and compared byte for byte with a fresh one, so
// its file names are fixed and nothing in it depends on the machine.
export default defineConfig({
  base: "/",
  plugins: [preloadShared],
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
