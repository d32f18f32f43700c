import { defineConfig } from "vitest/config";

// The build is embedded in the binary and compared byte for byte with a fresh one, so
// its file names are fixed and nothing in it depends on the machine.
export default defineConfig({
  base: "/",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: "es2022",
    sourcemap: false,
    cssCodeSplit: false,
    // Every import is in the one file, so there is nothing to preload; and the
    // polyfill would be one more script to justify to the content security policy.
    modulePreload: false,
    // A data: URL in a style sheet would be allowed, but a file of our own is plainer.
    assetsInlineLimit: 0,
    rolldownOptions: {
      output: {
        entryFileNames: "assets/app.js",
        // The one other script is the page that measures.
        chunkFileNames: "assets/bench.js",
        assetFileNames: "assets/app[extname]",
      },
    },
  },
  server: {
    proxy: { "/api": { target: "http://127.0.0.1:8181", ws: true } },
  },
  test: { include: ["test/**/*.test.ts"], environment: "node" },
});
