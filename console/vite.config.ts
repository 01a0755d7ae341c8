import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** The server that answers everything but the console's own files while it is developed: console/README.md. */
const SERVER = "http://127.0.0.1:3000";

export default defineConfig(({ command }) => ({
  // The server prints the absolute address of the entry; from there on, files name each other relatively.
  base: command === "build" ? "./" : "/console/",
  root: import.meta.dirname,
  plugins: [react()],
  resolve: { conditions: ["countersign", "module", "browser", "development|production"] },
  build: {
    manifest: "manifest.json",
    sourcemap: false,
    target: "es2023",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // What screens share, but for parts of other screens, is one file: each small file would be one more request before the first paint.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: "shared", test: /^(?!.*\/src\/routes\/)/, minShareCount: 2 }] } } },
  },
  server: { port: 5173, strictPort: true, proxy: { "^/(?!console(/|$|\\?))": SERVER } },
}));
