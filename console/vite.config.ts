import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** The server that answers everything but the console's own files while it is developed: console/README.md. */
const SERVER = "http://127.0.0.1:3000";

export default defineConfig(({ command }) => ({
  // The server prints the absolute addresses of the script and the style.
  base: command === "build" ? "./" : "/console/",
  root: import.meta.dirname,
  plugins: [react()],
  resolve: { conditions: ["countersign", "module", "browser", "development|production"] },
  build: {
    sourcemap: false,
    target: "es2023",
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1_000, // one script on purpose: docs/decisions/0021-the-console-is-one-script.md
  },
  server: { port: 5173, strictPort: true, proxy: { "^/(?!console(/|$|\\?))": SERVER } },
}));
