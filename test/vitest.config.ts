import { defineConfig } from "vitest/config";

export default defineConfig({
  root: new URL("..", import.meta.url).pathname,
  test: {
    include: ["test/**/*.test.ts"],
    environment: "node",
    testTimeout: 10_000,
    hookTimeout: 30_000,
    retry: 0,
    restoreMocks: true,
    unstubGlobals: true,
    reporters: ["default", ["json", { outputFile: "dist/vitest.json" }]],
  },
});
