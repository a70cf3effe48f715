import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

/** The tests that run inside workerd, where Durable Objects are. */
const WORKERD = "test/adapters/cloudflare/workerd/**/*.test.ts";

const shared = { testTimeout: 10_000, hookTimeout: 30_000, retry: 0, restoreMocks: true, unstubGlobals: true };

export default defineConfig({
  root: new URL("..", import.meta.url).pathname,
  test: {
    reporters: ["default", ["json", { outputFile: "dist/vitest.json" }]],
    projects: [
      {
        extends: true,
        test: { ...shared, name: "node", include: ["test/**/*.test.ts"], exclude: [WORKERD], environment: "node" },
      },
      {
        extends: true,
        plugins: [
          cloudflareTest({
            main: "./test/adapters/cloudflare/workerd/shards.ts",
            miniflare: {
              compatibilityDate: "2026-11-01",
              cf: false,
              durableObjects: {
                REPLAY: { className: "TestShard", useSQLite: true },
                APPROVALS: { className: "TestApprovals", useSQLite: true },
              },
            },
          }),
        ],
        test: { ...shared, name: "workerd", include: [WORKERD] },
      },
    ],
  },
});
