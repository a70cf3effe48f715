import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync, Visitor } from "oxc-parser";
import { describe, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");

/** An interface somebody fills in; its numbers must say what they count. What is reported or sent has its own names. */
const OPTIONS = /(Options|Config|Limits|Settings)$/;

/** A name that says its unit, or that is a bound on something countable. */
const UNIT =
  /(Ms|Seconds|Bytes|Chars|Count|Length|Percent|Ratio|[pP]er(Second|Minute)|Port|Status|[iI]teration)$|^(max|min)[A-Z]/;

/** Numbers that have no unit, or whose name is one. */
const UNITLESS: ReadonlySet<string> = new Set([
  "priority",
  "id",
  "attempt",
  "attempts",
  "version",
  "code",
  "status",
  "port",
  "generation",
  "burst",
  "concurrency",
  "depth",
  "retry",
]);

/** Each export without a comment and each number without a unit, with its line. */
function problemsOf(path: string, source: string): string[] {
  const { program, comments } = parseSync(path, source);
  const problems: string[] = [];
  const at = (offset: number): string => `${path}:${source.slice(0, offset).split("\n").length}`;
  const isDocumented = (start: number): boolean =>
    comments.some(
      (comment) =>
        comment.type === "Block" &&
        comment.value.startsWith("*") &&
        comment.end <= start &&
        source.slice(comment.end, start).trim() === "",
    );
  let documentedName = "";
  for (const node of program.body) {
    if (node.type !== "ExportNamedDeclaration" && node.type !== "ExportDefaultDeclaration") continue;
    if (node.type === "ExportNamedDeclaration" && !node.declaration) continue;
    const name = nameOf(node.declaration);
    // The overloads of a function share the comment of the first.
    if (isDocumented(node.start)) documentedName = name;
    else if (name === "" || name !== documentedName) problems.push(`${at(node.start)} export without TSDoc: ${name}`);
  }
  new Visitor({
    TSInterfaceDeclaration(node) {
      if (!OPTIONS.test(node.id.name)) return;
      for (const member of node.body.body) {
        if (member.type !== "TSPropertySignature" || member.key.type !== "Identifier") continue;
        if (member.typeAnnotation?.typeAnnotation.type !== "TSNumberKeyword") continue;
        const { name } = member.key;
        if (name.includes("_") || UNIT.test(name) || UNITLESS.has(name)) continue;
        problems.push(`${at(member.start)} number without a unit: ${name}`);
      }
    },
  }).visit(program);
  return problems;
}

function nameOf(declaration: unknown): string {
  if (typeof declaration !== "object" || declaration === null) return "";
  if ("id" in declaration) return identifierOf(declaration.id);
  if ("declarations" in declaration && Array.isArray(declaration.declarations))
    return nameOf(declaration.declarations[0]);
  return "";
}

function identifierOf(id: unknown): string {
  return typeof id === "object" && id !== null && "name" in id && typeof id.name === "string" ? id.name : "";
}

describe("what the docs check finds", () => {
  test.each([
    ["export const x: number = 1;", "a.ts:1 export without TSDoc: x"],
    ["// A remark.\nexport function f(): void {}", "a.ts:2 export without TSDoc: f"],
    ["/** Doc. */\nconst y = 1;\nexport interface X {}", "a.ts:3 export without TSDoc: X"],
    ["/** Doc. */\nexport interface XOptions { readonly timeout?: number }", "a.ts:2 number without a unit: timeout"],
  ])("%s", (source, problem) => {
    expect(problemsOf("a.ts", source)).toEqual([problem]);
  });

  test.each([
    "/** Doc. */\nexport const x: number = 1;",
    "/** Doc. */\nexport function f(a: string): void;\nexport function f(a: number): void;\nexport function f(): void {}",
    "/** Doc. */\nexport interface XOptions { timeoutMs: number; maxHooks: number; priority: number; wait_ms: number }",
    "/** Doc. */\nexport interface Report { readonly delivered: number }",
    `export { y } from "./y.ts";`,
  ])("not: %s", (source) => {
    expect(problemsOf("a.ts", source)).toEqual([]);
  });
});

describe("every export is documented and every number names its unit", () => {
  for (const path of globSync(["src/**/*.ts", "adapters/**/*.ts"], { cwd: ROOT }).toSorted()) {
    test(`${path} is`, () => {
      expect(problemsOf(path, readFileSync(join(ROOT, path), "utf8"))).toEqual([]);
    });
  }
});
