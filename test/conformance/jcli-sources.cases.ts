import {
  formatHookProblem,
  type HookFiles,
  loadHookFiles,
  trustHookFile,
  type TrustStore,
} from "../../src/jcli/index.ts";
import { type Case, equal, ok, rejects } from "./case.ts";

function sourceCase(id: string, test: () => Promise<void>): Case {
  return { id: `jcli-sources/${id}`, source: "YAML hook system, section 1", run: test };
}

const USER = "/home/me/.jdata/agent/hooks.yaml";
const NEAR = "/repo/sub/.jcli/hooks.yaml";
const FAR = "/repo/.jcli/hooks.yaml";
const hook = (command: string): string => `stop:\n  - command: ${command}\n`;

/** Files by path; a link is `-> path`. */
function createDisk(contents: Readonly<Record<string, string | Uint8Array>>): {
  readonly files: HookFiles;
  readonly trust: TrustStore;
  readonly disk: Record<string, string | Uint8Array>;
} {
  const disk = { ...contents };
  const trusted = new Map<string, string>();
  const files: HookFiles = {
    userPath: USER,
    projectPaths: () => [NEAR, FAR, "/.jcli/hooks.yaml"],
    async read(path, maxBytes) {
      const content = disk[path];
      if (content === undefined) return undefined;
      if (typeof content === "string" && content.startsWith("-> ")) return files.read(content.slice(3), maxBytes);
      if (content === "locked") throw new Error("permission denied");
      return { path, bytes: typeof content === "string" ? new TextEncoder().encode(content) : content };
    },
  };
  const trust: TrustStore = {
    get: async (path) => trusted.get(path),
    set: async (path, sha256) => void trusted.set(path, sha256),
  };
  return { files, trust, disk };
}

/** Finding the files of hooks, and trusting a project's. */
export const jcliSourceCases: readonly Case[] = [
  sourceCase("the-users-file-needs-no-trust", async () => {
    const { files, trust } = createDisk({ [USER]: hook("a") });
    const { user, project } = await loadHookFiles({ files, trust, cwd: "/repo/sub" });
    equal([user?.hooks.length, user?.problems, project], [1, [], undefined]);
  }),
  sourceCase("no-file-is-no-problem", async () => {
    const { files, trust } = createDisk({});
    equal(await loadHookFiles({ files, trust, cwd: "/repo/sub" }), {});
  }),
  sourceCase("a-new-project-file-is-not-loaded", async () => {
    const { files, trust } = createDisk({ [NEAR]: hook("a"), [FAR]: hook("b") });
    const { project } = await loadHookFiles({ files, trust, cwd: "/repo/sub" });
    equal([project?.path, project?.hooks, project?.isUntrusted], [NEAR, [], true]);
    const [problem] = project?.problems ?? [];
    ok(
      problem !== undefined && formatHookProblem(problem, NEAR).endsWith(`hookgate trust ${NEAR}`),
      "the command is there",
    );
  }),
  sourceCase("the-nearest-trusted-file-is-loaded", async () => {
    const { files, trust } = createDisk({ [NEAR]: hook("a"), [FAR]: hook("b") });
    const { path, sha256 } = await trustHookFile(NEAR, { files, trust });
    equal([path, /^[0-9a-f]{64}$/.test(sha256)], [NEAR, true]);
    const { project } = await loadHookFiles({ files, trust, cwd: "/repo/sub" });
    equal([project?.path, project?.hooks.length, project?.isUntrusted], [NEAR, 1, false]);
  }),
  sourceCase("a-changed-file-is-not-loaded", async () => {
    const { files, trust, disk } = createDisk({ [NEAR]: hook("a") });
    await trustHookFile(NEAR, { files, trust });
    disk[NEAR] = hook("evil");
    const { project } = await loadHookFiles({ files, trust, cwd: "/repo/sub" });
    equal([project?.hooks, project?.isUntrusted], [[], true]);
    ok(project?.problems[0]?.message.includes("has changed since it was trusted"), "it says so");
    await trustHookFile(NEAR, { files, trust });
    equal((await loadHookFiles({ files, trust, cwd: "/repo/sub" })).project?.hooks.length, 1);
  }),
  sourceCase("the-same-bytes-elsewhere-are-not-trusted", async () => {
    const { files, trust, disk } = createDisk({ [FAR]: hook("./check.sh") });
    await trustHookFile(FAR, { files, trust });
    disk[NEAR] = hook("./check.sh");
    equal((await loadHookFiles({ files, trust, cwd: "/repo/sub" })).project?.isUntrusted, true);
  }),
  sourceCase("trust-goes-by-where-a-link-leads", async () => {
    const { files, trust, disk } = createDisk({ [NEAR]: `-> ${FAR}`, [FAR]: hook("a") });
    await trustHookFile(NEAR, { files, trust });
    equal((await loadHookFiles({ files, trust, cwd: "/repo/sub" })).project?.path, FAR);
    disk["/other"] = hook("b");
    disk[NEAR] = "-> /other";
    equal((await loadHookFiles({ files, trust, cwd: "/repo/sub" })).project?.isUntrusted, true);
  }),
  sourceCase("a-path-of-the-gateways-own-config-is-trusted", async () => {
    const { files, trust } = createDisk({ "/etc/u.yaml": hook("a"), "/etc/p.yaml": hook("b"), [NEAR]: hook("c") });
    const { user, project } = await loadHookFiles({
      files,
      trust,
      cwd: "/repo/sub",
      user: "/etc/u.yaml",
      project: "/etc/p.yaml",
    });
    equal([user?.hooks.length, project?.path, project?.isUntrusted], [1, "/etc/p.yaml", false]);
  }),
  sourceCase("a-configured-file-that-is-missing-is-a-problem", async () => {
    const { files, trust } = createDisk({});
    const { user } = await loadHookFiles({ files, trust, cwd: "/", user: "/etc/u.yaml" });
    equal(
      user?.problems.map(({ message }) => message),
      ["there is no such file"],
    );
    await rejects(trustHookFile("/nowhere", { files, trust }), "Error");
  }),
  sourceCase("a-file-that-cannot-be-read-is-a-problem", async () => {
    const { files, trust } = createDisk({ [USER]: "locked", [NEAR]: Uint8Array.of(0xff, 0xfe) });
    await trustHookFile(NEAR, { files, trust });
    const { user, project } = await loadHookFiles({ files, trust, cwd: "/repo/sub" });
    equal([user?.problems[0]?.message, project?.problems[0]?.message], ["permission denied", "the file is not UTF-8"]);
  }),
  sourceCase("the-command-is-quoted-for-a-shell", async () => {
    const path = "/it's; rm -rf /.yaml";
    const { files, trust } = createDisk({ [path]: hook("a") });
    const projectPaths = (): readonly string[] => [path];
    const { project } = await loadHookFiles({ files: { ...files, projectPaths }, trust, cwd: "/" });
    ok(project?.problems[0]?.message.endsWith(`hookgate trust '/it'\\''s; rm -rf /.yaml'`), "one word");
  }),
];
