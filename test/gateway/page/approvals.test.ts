import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PAYLOADS } from "../../conformance/page-fixture.ts";
import { type ApprovalStage, openApprovalStage, tokenOf } from "./approval-stage.ts";
import { CONTRASTS, TOO_WIDE, UNNAMED } from "./audit.ts";
import { startChromium } from "./chromium.ts";
import { serveForeign } from "./stage.ts";
import { evaluate, type Visit, visit } from "./visit.ts";

const SECONDS = 1000;
const DAY_MS = 86_400_000;

let browser: Browser;
let stage: ApprovalStage;

beforeAll(async () => {
  browser = await startChromium();
  stage = await openApprovalStage({ hasAuth: true });
}, 60 * SECONDS);

afterAll(async () => {
  await browser?.close();
  await stage?.close();
});

function open(options: BrowserContextOptions = {}, { url } = stage): Promise<Visit> {
  return visit(browser, { options, urls: [url] });
}

async function signIn(page: Page, name: string, { url } = stage): Promise<void> {
  await page.goto(`${url}/approvals`);
  await page.getByLabel("Token").fill(tokenOf(name));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Approvals" }).waitFor();
}

async function linkFor(approval: string, approver: string): Promise<string> {
  const token = await stage.links.sign({ approval, approver, expiresAtMs: Date.now() + DAY_MS });
  return `${stage.url}/approvals/link/${token}`;
}

const SCREENS: readonly (readonly [name: string, options: BrowserContextOptions])[] = [
  ["a wide screen", {}],
  ["a phone", { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true }],
  ["a browser without script", { javaScriptEnabled: false }],
];

describe.for(SCREENS)("on %s", { timeout: 60 * SECONDS }, ([name, options]) => {
  test("a call that waits goes on when it is approved", async () => {
    const { page, sins } = await open(options);
    const { asked, approval } = await stage.begin("bash", { command: `make deploy # ${name}` });
    await signIn(page, "ann");
    const card = page.locator(`#approval-${approval.id}`);
    expect(await card.innerText()).toContain(`make deploy # ${name}`);
    await card.getByLabel("Comment").fill("go on");
    await card.getByRole("button", { name: "Approve bash" }).click();
    await page.getByText("and used: this call went on, once.").or(page.getByText("Approved by ann, once.")).waitFor();
    expect(await asked).toMatchObject({ approved: true, approval: { id: approval.id, status: "consumed" } });
    expect((await stage.approvals.get(approval.id)).votes).toMatchObject([
      { by: "ann", how: "page", comment: "go on" },
    ]);
    expect(sins).toEqual([]);
  });

  test("a call that waits ends when a link denies it, and the link is good once", async () => {
    const { page, sins } = await open(options);
    const { asked, approval } = await stage.begin("rm", { path: `/ # ${name}` });
    const url = await linkFor(approval.id, "cem");
    await page.goto(url);
    expect(await page.getByRole("heading", { level: 1 }).innerText()).toBe("May rm run?");
    await page.getByRole("button", { name: "Deny rm" }).click();
    await page.getByRole("heading", { name: "Denied" }).waitFor();
    expect(await asked).toMatchObject({ approved: false, reason: `cem denied this (approval ${approval.id})` });
    await page.goto(url);
    await page.getByText("You have decided this already").waitFor();
    expect(await page.context().cookies()).toEqual([]);
    expect(sins).toEqual([]);
  });
});

describe("by keyboard alone", { timeout: 60 * SECONDS }, () => {
  test("one comments and approves; the Enter key in a field decides nothing", async () => {
    const { page, sins } = await open();
    const { keyboard } = page;
    const { asked, approval } = await stage.begin("keys");
    await signIn(page, "ann");
    await page.goto(`${stage.url}/approvals/${approval.id}`);
    const isAt = (selector: string): Promise<boolean> =>
      evaluate(page, `document.activeElement.matches("${selector}")`);
    for (let count = 0; count < 20 && !(await isAt("textarea")); count += 1) await keyboard.press("Tab");
    await keyboard.type("one");
    await keyboard.press("Enter");
    await keyboard.type("two");
    await keyboard.press("Tab");
    expect(await isAt("select")).toBe(true);
    await keyboard.press("ArrowDown");
    await keyboard.press("Tab");
    expect((await stage.approvals.get(approval.id)).status).toBe("pending");
    await keyboard.press("Enter");
    await page.getByText("for an hour: this same call").waitFor();
    expect(await asked).toMatchObject({ approved: true });
    expect((await stage.approvals.get(approval.id)).votes).toMatchObject([{ comment: "one\ntwo", scope: "hour" }]);
    expect(sins).toEqual([]);
  });
});

describe("while one looks", { timeout: 60 * SECONDS }, () => {
  test("what is new comes last, what is decided can be pressed no more, and what one writes stays", async () => {
    const { page, sins } = await open();
    const [first, second] = [await stage.begin("first"), await stage.begin("second")];
    const watching = page.waitForResponse(`${stage.url}/v1/approvals/events`);
    await signIn(page, "ann");
    await watching;
    await page.getByRole("button", { name: "Live" }).waitFor();
    await page.locator(`#approval-${second.approval.id}`).getByLabel("Comment").fill("half a sent");
    const third = await stage.begin("third");
    await page.getByRole("button", { name: "Approve third" }).waitFor();
    const ids = [first, second, third].map(({ approval }) => `approval-${approval.id}`);
    expect(await evaluate(page, `[...document.querySelectorAll("#pending > li")].map((item) => item.id)`)).toEqual(ids);
    await stage.approvals.decide(first.approval.id, { by: "cem", how: "link", decision: "deny" });
    await page.getByText("not pending any more").waitFor();
    const gone = page.locator(`#approval-${first.approval.id}`);
    expect(await gone.getByRole("button", { name: "Approve first" }).isDisabled()).toBe(true);
    expect(await evaluate(page, `[...document.querySelectorAll("#pending > li")].map((item) => item.id)`)).toEqual(ids);
    expect(await page.locator("#settled tbody tr").first().innerText()).toMatch(/first\s+denied\s+cem/);
    expect(await page.locator("#pending-count").innerText()).toBe("2");
    expect(await page.title()).toBe("(2) Approvals \u00b7 hookgate");
    const written = page.locator(`#approval-${second.approval.id}`).getByLabel("Comment");
    expect(await written.inputValue()).toBe("half a sent");
    expect(sins).toEqual([]);
    for (const { approval } of [second, third]) await stage.approvals.cancel(approval.id);
    await Promise.all([first, second, third].map(({ asked }) => asked));
  });
});

describe("whatever an agent asks", { timeout: 120 * SECONDS }, () => {
  test("runs no script, asks for nothing from elsewhere and hides nothing", async () => {
    const own = await openApprovalStage({ hasAuth: false, rule: { wait_ms: 0 } });
    const { page, sins } = await open({}, own);
    const marker = "<img src='//evil.example/x.png' onerror='document.title=\"taken\"'>";
    for (const payload of [...PAYLOADS, marker]) await own.ask(payload, { [payload]: payload });
    await own.ask("odd", {
      file: "photo\u202egpj.exe",
      host: "p\u0430ypal.com",
      command: "rm\u200b -rf",
      all: "\u0430\u0440\u0440",
    });
    await own.ask("long", { text: `${"\u200b<b>".repeat(40_000)}END` });
    await page.goto(`${own.url}/approvals`);
    await page.getByRole("button", { name: "Approve odd" }).waitFor();
    expect(
      await evaluate(
        page,
        `document.querySelectorAll("main img, main script, main svg, main iframe, main style").length`,
      ),
    ).toBe(0);
    expect(await page.title()).toContain("Approvals");
    const odd = page.locator("li", { hasText: "photo" });
    expect(await odd.locator("pre").innerText()).toContain('"photoU+202Egpj.exe"');
    expect(await odd.locator(".odd").innerText()).toMatch(
      /2 characters that cannot be seen[^]*1 character that can pass[^]*Cyrillic/,
    );
    const long = page.locator("li", { hasText: "more characters are not shown here" });
    expect(await long.getByRole("button").count()).toBe(0);
    await long.getByRole("link", { name: "Open to decide" }).click();
    await page.waitForLoadState();
    expect(await page.getByRole("heading", { level: 1 }).innerText()).toBe("May long run?");
    expect(await page.locator("pre").innerText()).toContain("⟨U+200B⟩<b>END");
    await page.getByRole("button", { name: "Deny long" }).click();
    await page.getByText("anonymous denied it.").waitFor();
    expect(sins).toEqual([]);
    await own.close();
  });
});

describe("another page of this machine", { timeout: 60 * SECONDS }, () => {
  test("cannot decide for one who has signed in, nor for one who has a link", async () => {
    const { page } = await open();
    const { asked, approval } = await stage.begin("evil");
    await signIn(page, "ann");
    const link = await linkFor(approval.id, "ann");
    for (const action of [`${stage.url}/approvals/${approval.id}`, link]) {
      const fields = `<input name=decision value=approve><input name=call value="${approval.call}">`;
      const evil = await serveForeign(`<form method=post action="${action}">${fields}<button id=go>go</button></form>`);
      await page.goto(`http://127.0.0.1:${evil.port}/`);
      await page.locator("#go").click();
      await page.getByText("This form was not sent by a page of this gateway.").waitFor();
      evil.close();
    }
    expect((await stage.approvals.get(approval.id)).status).toBe("pending");
    await stage.approvals.cancel(approval.id);
    await asked;
  });
});

describe("to everyone's eyes", { timeout: 120 * SECONDS }, () => {
  const LONG = "x".repeat(400);
  let own: ApprovalStage;
  let urls: readonly string[];

  beforeAll(async () => {
    const rule = {
      wait_ms: 0,
      require: 2,
      risk: "critical",
      reason: LONG,
      approvers: ["anonymous", LONG.slice(0, 200)],
    };
    const told = {
      name: "slack",
      kind: "slack",
      delivered: 1,
      failed: 1,
      dropped: 0,
      waiting: 1,
      last_error: LONG,
    } as const;
    own = await openApprovalStage({ hasAuth: false, rule, options: { notifications: () => [told] } });
    const asked = [
      await own.ask(LONG.slice(0, 300), { [LONG]: LONG, odd: "p\u0430ypal\u200b" }),
      await own.ask("long", { text: LONG.repeat(10) }),
      await own.ask("done", {}),
    ].map(({ approval }) => approval?.id ?? "");
    await own.approvals.decide(asked[0] ?? "", {
      by: LONG.slice(0, 200),
      how: "link",
      decision: "approve",
      comment: LONG,
    });
    await own.approvals.decide(asked[2] ?? "", { by: "anonymous", how: "link", decision: "deny", comment: LONG });
    const token = await own.links.sign({
      approval: asked[0] ?? "",
      approver: "anonymous",
      expiresAtMs: Date.now() + DAY_MS,
    });
    const paths = ["", `?done=${asked[2]}`, ...asked.map((id) => `/${id}`), `/link/${token}`, "/link/x", "/none"];
    urls = paths.map((path) => `${own.url}/approvals${path}`);
  }, 60 * SECONDS);

  afterAll(() => own?.close());

  test.for(["light", "dark"] as const)("in %s every text stands out from its ground", async (colorScheme) => {
    const { page } = await open({ colorScheme }, own);
    for (const url of urls) {
      await page.goto(url);
      const [ground, faint] = await evaluate<[number, string[]]>(page, CONTRASTS);
      expect([url, faint]).toEqual([url, []]);
      expect(ground < 0.5).toBe(colorScheme === "dark");
    }
  });

  test.for([360, 768, 1440])("at %d pixels nothing is cut off or scrolls sideways", async (width) => {
    const { page } = await open({ viewport: { width, height: 800 } }, own);
    for (const url of urls) {
      await page.goto(url);
      expect([url, await evaluate(page, TOO_WIDE)]).toEqual([url, []]);
    }
  });

  test("and ears: tables, fields and landmarks have names", async () => {
    const { page } = await open({}, own);
    for (const url of urls) {
      await page.goto(url);
      expect([url, await evaluate(page, UNNAMED)]).toEqual([url, []]);
    }
  });
});
