import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PAYLOADS } from "../../conformance/page-fixture.ts";
import { CONTRASTS, TOO_WIDE, UNNAMED } from "./audit.ts";
import { startChromium } from "./chromium.ts";
import { evaluate, type Visit, visit } from "./visit.ts";
import { openStage, serveForeign, type Stage, TOKEN } from "./stage.ts";

const SECONDS = 1000;

let browser: Browser;
let open: Stage;
let closed: Stage;

beforeAll(async () => {
  browser = await startChromium();
  [open, closed] = await Promise.all([openStage({ hasAuth: false }), openStage({ hasAuth: true })]);
  for (const stage of [open, closed]) {
    for (const tool of ["ls", "rm", "sed", "boom"]) await stage.decide(tool, { args: { path: "/etc/hosts" } });
    await stage.decide("grep", { session: "s2" });
  }
}, 60 * SECONDS);

afterAll(async () => {
  await browser?.close();
  await Promise.all([open?.close(), closed?.close()]);
});

function openPage(options: BrowserContextOptions = {}, stages = [open, closed]): Promise<Visit> {
  return visit(browser, { options, urls: stages.map(({ url }) => url) });
}

async function signIn(page: Page, path = "/"): Promise<void> {
  await page.goto(`${closed.url}${path}`);
  await page.getByLabel("Token").fill(TOKEN);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Hooks" }).waitFor();
}

describe("whatever is recorded", { timeout: 120 * SECONDS }, () => {
  test("runs no script, asks for nothing from elsewhere, and leaves the page as it is", async () => {
    const marker = "<img src='//evil.example/x.png' onerror='document.title=\"taken\"'>";
    const stage = await openStage({ hasAuth: false, hookName: `gate ${marker}`, hookError: PAYLOADS.join(" ") });
    const payloads = [...PAYLOADS, marker, "<script src='//evil.example/x.js'></script>"];
    for (const payload of payloads) {
      await stage.decide(payload, { args: { [payload]: payload, deep: [{ payload }] }, session: payload });
    }
    await stage.decide("rm", { args: { command: payloads.join("\n") } });
    await stage.decide("boom");
    const { page, sins } = await openPage({}, [open, stage]);
    const allowed = new Set(await tagsOf(page, open.url));
    const addresses = [stage.url];
    await page.goto(stage.url);
    addresses.push(
      ...(await evaluate<string[]>(page, `[...document.querySelectorAll("#decisions a")].map((a) => a.href)`)),
    );
    expect(addresses.length).toBe(payloads.length + 3);
    const filters = payloads.map(
      (payload) => `${stage.url}/?${String(new URLSearchParams({ tool: payload, session: payload }))}`,
    );
    for (const address of [...addresses, ...filters]) {
      const strange = (await tagsOf(page, address)).filter((tag) => !allowed.has(tag) && !OWN_TAGS.has(tag));
      expect([address, strange, await page.title()]).toEqual([address, [], expect.stringMatching(/· hookgate$/)]);
    }
    expect(sins).toEqual([]);
    await stage.close();
  });

  test("shows what hides in it", async () => {
    const stage = await openStage({ hasAuth: false });
    await stage.decide("photo\u202egpj.exe", { session: "a\u200bb", args: { command: "rm\u00a0-rf p\u0430th" } });
    const { page } = await openPage();
    await page.goto(stage.url);
    const row = page.locator("#decisions tbody tr");
    expect(await row.innerText()).toContain("photoU+202Egpj.exe");
    await row.getByRole("link").click();
    expect(await page.locator("pre").innerText()).toContain('"command": "rmU+00A0-rf p\u0430 U+0430th"');
    await stage.close();
  });
});

/** Tags that only pages with something on them have. */
const OWN_TAGS = new Set("OL LI PRE BR P H3 STRONG SMALL svg rect".split(" "));

async function tagsOf(page: Page, url: string): Promise<string[]> {
  await page.goto(url);
  return evaluate(page, `[...new Set([...document.querySelectorAll("*")].map((node) => node.tagName))]`);
}

describe("the pages", { timeout: 60 * SECONDS }, () => {
  test("say everything without a script", async () => {
    const { page, sins } = await openPage({ javaScriptEnabled: false });
    await signIn(page, "/?tool=rm");
    expect(page.url()).toBe(`${closed.url}/?tool=rm`);
    await page.getByRole("link", { name: "Clear" }).click();
    await page.waitForURL(`${closed.url}/`);
    const hook = await page.locator("#hooks tbody tr").first().innerText();
    expect(hook).toContain("gate");
    expect(hook).toContain("ready");
    expect(await page.locator("#decisions tbody tr").count()).toBe(5);
    expect(await page.getByRole("button", { name: "Live" }).isVisible()).toBe(false);
    await page.getByLabel("Outcome").selectOption("deny_tool");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.waitForURL(/outcome=deny_tool/);
    expect(await page.locator("#decisions tbody tr").count()).toBe(1);
    await page.locator("#decisions tbody a").click();
    await page.getByRole("heading", { name: "What each hook did" }).waitFor();
    expect(await page.locator(".steps li").innerText()).toContain("deny tool");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").waitFor();
    expect(sins).toEqual([]);
  });

  test("show what each hook changed", async () => {
    const { page } = await openPage();
    await page.goto(`${open.url}/?tool=sed`);
    await page.locator("#decisions tbody a").click();
    const patch = page.getByRole("table", { name: "What it changed" });
    expect(await patch.innerText()).toMatch(/add\s+\/arguments\/safe\s+true/);
    await page.goto(`${open.url}/?tool=boom`);
    await page.locator("#decisions tbody a").click();
    expect(await page.locator(".steps").innerText()).toMatch(/no verdict\s+hook_error\s+failed open/);
  });

  test("show new decisions by themselves, until they are paused", async () => {
    const { page, sins } = await openPage();
    const watching = page.waitForResponse(`${open.url}/v1/events?tool=live`);
    await page.goto(`${open.url}/?tool=live`);
    await watching;
    const button = page.getByRole("button", { name: "Live" });
    await button.waitFor();
    expect(await page.getByText("No decision is like that.").count()).toBe(1);
    await open.decide("live");
    await page.locator("#decisions tbody tr").waitFor();
    await button.click();
    const paused = page.getByRole("button", { name: "Paused" });
    expect(await paused.getAttribute("aria-pressed")).toBe("false");
    expect(sins).toEqual([]);
  });
});

describe("by keyboard alone", { timeout: 60 * SECONDS }, () => {
  test("one signs in, skips to the content, filters and opens a decision", async () => {
    const { page, sins } = await openPage();
    const { keyboard } = page;
    await page.goto(closed.url);
    // The only field has the focus already.
    await keyboard.type("wrong");
    await keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    expect(await page.getByRole("alert").innerText()).toContain("not known here");
    await keyboard.type(TOKEN);
    await keyboard.press("Enter");
    await page.getByRole("heading", { name: "Hooks" }).waitFor();
    await keyboard.press("Tab");
    expect(await focused(page)).toMatchObject({ text: "Skip to content", isOnScreen: true, hasRing: true });
    await keyboard.press("Enter");
    const seen: string[] = [];
    for (let count = 0; count < 30 && seen.at(-1) !== "session"; count += 1) {
      await keyboard.press("Tab");
      const at = await focused(page);
      expect(at).toMatchObject({ isOnScreen: true, hasRing: true });
      seen.push(at.id);
    }
    expect(seen).toContain("session");
    expect(seen).not.toContain("sign-out");
    await keyboard.type("s2");
    await keyboard.press("Enter");
    await page.waitForURL(/session=s2/);
    expect(await page.locator("#decisions tbody tr").count()).toBe(1);
    const isAtLink = `document.activeElement.matches("#decisions tbody a")`;
    for (let count = 0; count < 40 && !(await evaluate(page, isAtLink)); count += 1) await keyboard.press("Tab");
    await keyboard.press("Enter");
    await page.waitForURL(/\/decisions\//);
    expect(await page.getByRole("heading", { level: 1 }).innerText()).toBe("grep");
    expect(sins).toEqual([]);
  });
});

interface Focused {
  readonly id: string;
  readonly text: string;
  readonly isOnScreen: boolean;
  readonly hasRing: boolean;
}

function focused(page: Page): Promise<Focused> {
  return evaluate(
    page,
    `(() => {
      const node = document.activeElement;
      const box = node.getBoundingClientRect();
      const style = getComputedStyle(node);
      return {
        id: node.id,
        text: node.textContent.trim(),
        isOnScreen: box.width > 0 && box.top >= 0 && box.left >= 0 && box.right <= innerWidth,
        hasRing: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
      };
    })()`,
  );
}

describe("to everyone's eyes", { timeout: 60 * SECONDS }, () => {
  const LONG = "x".repeat(500);

  test.for([
    { colorScheme: "light", isDark: false },
    { colorScheme: "dark", isDark: true },
  ] as const)("in $colorScheme every text stands out from its ground", async ({ colorScheme, isDark }) => {
    const { page } = await openPage({ colorScheme });
    const one = await firstDecision(page);
    for (const url of [open.url, one, closed.url]) {
      await page.goto(url);
      const [ground, faint] = await evaluate<[number, string[]]>(page, CONTRASTS);
      expect(ground < 0.5).toBe(isDark);
      expect([url, faint]).toEqual([url, []]);
    }
  });

  test.for([360, 768, 1024, 1440])("at %d pixels nothing is cut off or scrolls sideways", async (width) => {
    const stage = await openStage({ hasAuth: false, hookName: `hook-${LONG.slice(0, 90)}`, hookError: LONG });
    await stage.decide(LONG, { session: LONG, args: { [LONG]: LONG } });
    await stage.decide("rm", { args: { text: LONG } });
    await stage.decide("boom");
    const { page } = await openPage({ viewport: { width, height: 800 } });
    await page.goto(stage.url);
    const links = await evaluate<string[]>(page, `[...document.querySelectorAll("#decisions a")].map((a) => a.href)`);
    for (const url of [stage.url, ...links, closed.url, `${stage.url}/?tool=${LONG}`]) {
      await page.goto(url);
      expect([url, await evaluate(page, TOO_WIDE)]).toEqual([url, []]);
    }
    await stage.close();
  });

  test("and ears: tables, fields and landmarks have names", async () => {
    const { page } = await openPage();
    const one = await firstDecision(page);
    for (const url of [open.url, one, closed.url, `${open.url}/decisions/none`]) {
      await page.goto(url);
      expect([url, await evaluate(page, UNNAMED)]).toEqual([url, []]);
    }
  });
});

async function firstDecision(page: Page): Promise<string> {
  await page.goto(`${open.url}/?tool=sed`);
  return evaluate(page, `document.querySelector("#decisions tbody a").href`);
}

describe("another page of this machine", { timeout: 60 * SECONDS }, () => {
  test("cannot sign anybody out or in", async () => {
    const { page } = await openPage();
    await signIn(page);
    for (const path of ["/page/sign-out", "/page/sign-in"]) {
      const form = `<form method=post action="${closed.url}${path}"><input name=token value="${TOKEN}"><button id=go>go</button></form>`;
      // The same site as the gateway, by the rules of cookies: only where the form comes from tells them apart.
      const evil = await serveForeign(form);
      await page.goto(`http://127.0.0.1:${evil.port}/`);
      await page.locator("#go").click();
      await page.getByText("This form was not sent by a page of this gateway.").waitFor();
      evil.close();
    }
    await page.goto(closed.url);
    expect(await page.getByText("Signed in as eye").count()).toBe(1);
  });

  test("leads one who has signed in to where its links point", async () => {
    const { page, sins } = await openPage();
    await signIn(page);
    // Another site by the rules of cookies: the name is another one.
    const elsewhere = await serveForeign(`<a href="${closed.url}/?tool=rm">look</a>`);
    const { port } = elsewhere;
    await page.goto(`http://localhost:${port}/`);
    await page.getByRole("link", { name: "look" }).click();
    await page.getByText("Signed in as eye").waitFor();
    expect(page.url()).toBe(`${closed.url}/?tool=rm`);
    // Who has not signed in is asked to.
    await page.context().clearCookies();
    await page.goto(`http://localhost:${port}/`);
    await page.getByRole("link", { name: "look" }).click();
    await page.getByLabel("Token").waitFor();
    expect(sins.filter((sin) => !sin.includes(`localhost:${port}`))).toEqual([]);
    elsewhere.close();
  });

  test("the session's cookie is out of reach of scripts and other sites", async () => {
    const { page } = await openPage();
    await signIn(page);
    const [cookie] = await page.context().cookies();
    expect(cookie).toMatchObject({ name: "hookgate_session", httpOnly: true, sameSite: "Strict", secure: false });
    expect(cookie?.value).not.toContain(TOKEN);
    expect(await evaluate(page, "document.cookie")).toBe("");
  });
});
