import type { Browser, BrowserContextOptions, Page } from "playwright-core";

const SECONDS = 1000;

/** A page, and all it did that it should not. */
export interface Visit {
  readonly page: Page;
  readonly sins: readonly string[];
}

/** Options of {@link visit}. */
export interface VisitOptions {
  readonly options?: BrowserContextOptions;
  /** Where it may ask for something. */
  readonly urls: readonly string[];
}

/** Opens a page that nobody has signed in to. */
export async function visit(browser: Browser, { options = {}, urls }: VisitOptions): Promise<Visit> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const sins: string[] = [];
  page.setDefaultTimeout(15 * SECONDS);
  page.on("dialog", (dialog) => {
    sins.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("pageerror", (error) => sins.push(`error: ${error.message}`));
  page.on("console", (message) => {
    // A page that asks for a token has status 401, and Chromium says so; and so of what is refused.
    const isExpected = /the server responded with a status of 4(?:0[139]|10)/.test(message.text());
    if (["error", "warning"].includes(message.type()) && !isExpected) sins.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    const { protocol, origin } = new URL(request.url());
    if (protocol !== "data:" && !urls.includes(origin)) sins.push(`request: ${request.url()}`);
  });
  return { page, sins };
}

/** What a script in the page says; the tests know no DOM. */
export async function evaluate<T>(page: Page, script: string): Promise<T> {
  return page.evaluate<T>(script);
}
