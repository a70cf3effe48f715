import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, realpath, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createHookFiles, createTrustStore } from "../../../adapters/node/index.ts";
import { loadHookFiles, trustHookFile } from "../../../src/jcli/index.ts";

const HOOK = "stop:\n  - command: a\n";
let root = "";

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "hookgate-files-")));
  await mkdir(join(root, "repo/sub/deep"), { recursive: true });
  await mkdir(join(root, "repo/.jcli"));
  await mkdir(join(root, "home/.jdata/agent"), { recursive: true });
});

afterEach(async () => {
  await rm(root, { recursive: true });
});

function load(cwd = "repo/sub/deep"): ReturnType<typeof loadHookFiles> {
  const files = createHookFiles({ home: join(root, "home") });
  return loadHookFiles({ files, trust: createTrustStore({ stateDir: join(root, "state") }), cwd: join(root, cwd) });
}

function trust(path: string): ReturnType<typeof trustHookFile> {
  const store = createTrustStore({ stateDir: join(root, "state") });
  return trustHookFile(join(root, path), { files: createHookFiles(), trust: store });
}

describe("hook files on disk", () => {
  test("are found in the home directory and upward from the working directory", async () => {
    await writeFile(join(root, "home/.jdata/agent/hooks.yaml"), HOOK);
    await writeFile(join(root, "repo/.jcli/hooks.yaml"), HOOK);
    const { user, project } = await load();
    expect(user?.hooks).toHaveLength(1);
    expect(project).toMatchObject({ path: join(root, "repo/.jcli/hooks.yaml"), isUntrusted: true, hooks: [] });
    await trust("repo/.jcli/hooks.yaml");
    expect((await load()).project?.hooks).toHaveLength(1);
    await writeFile(join(root, "repo/.jcli/hooks.yaml"), `${HOOK}# changed\n`);
    expect((await load()).project?.isUntrusted).toBe(true);
  });

  test("the nearest project wins, also when nobody trusts it", async () => {
    await writeFile(join(root, "repo/.jcli/hooks.yaml"), HOOK);
    await trust("repo/.jcli/hooks.yaml");
    await mkdir(join(root, "repo/sub/.jcli"));
    await writeFile(join(root, "repo/sub/.jcli/hooks.yaml"), HOOK);
    expect((await load()).project).toMatchObject({ path: join(root, "repo/sub/.jcli/hooks.yaml"), isUntrusted: true });
  });

  test("trust goes by where a link leads", async () => {
    await writeFile(join(root, "repo/real.yaml"), HOOK);
    await symlink(join(root, "repo/real.yaml"), join(root, "repo/.jcli/hooks.yaml"));
    expect((await trust("repo/.jcli/hooks.yaml")).path).toBe(join(root, "repo/real.yaml"));
    expect((await load()).project?.isUntrusted).toBe(false);
  });

  test("that are no files are problems, and nothing waits for them", async () => {
    const path = join(root, "repo/.jcli/hooks.yaml");
    await mkdir(path);
    expect((await load()).project?.problems[0]?.message).toBe("it is not a regular file");
    await rm(path, { recursive: true });
    execFileSync("mkfifo", [path]);
    expect((await load()).project?.problems[0]?.message).toBe("it is not a regular file");
    await rm(path);
    await writeFile(path, "#".repeat(1_048_577));
    expect((await load()).project?.problems[0]?.message).toBe("the file is longer than 1048576 bytes");
  });

  test("are absent where a directory on the way is a file", async () => {
    await rm(join(root, "repo/.jcli"), { recursive: true });
    await writeFile(join(root, "repo/.jcli"), "");
    expect((await load()).project).toBeUndefined();
  });

  test("what is trusted is kept where only the user can read it, whole at every moment", async () => {
    for (const name of ["a", "b"]) await writeFile(join(root, "repo", name), HOOK + name);
    await trust("repo/a");
    await trust("repo/b");
    const store = createTrustStore({ stateDir: join(root, "state") });
    expect(await store.get(join(root, "repo/a"))).toMatch(/^[0-9a-f]{64}$/);
    expect(await store.get(join(root, "repo/c"))).toBeUndefined();
    expect(await readdir(join(root, "state"))).toEqual(["trusted-hooks.json"]);
    expect((await stat(join(root, "state/trusted-hooks.json"))).mode & 0o777).toBe(0o600);
    expect((await stat(join(root, "state"))).mode & 0o777).toBe(0o700);
  });

  test("a damaged record trusts nothing", async () => {
    await writeFile(join(root, "repo/a"), HOOK);
    await trust("repo/a");
    const store = createTrustStore({ stateDir: join(root, "state") });
    for (const damage of ["", "[]", "null", `{"${join(root, "repo/a")}": 5}`]) {
      await writeFile(join(root, "state/trusted-hooks.json"), damage);
      expect(await store.get(join(root, "repo/a"))).toBeUndefined();
    }
  });
});
