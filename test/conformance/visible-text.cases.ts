import { splitVisible, toVisibleText } from "../../src/visible-text.ts";
import { type Case, equal, ok } from "./case.ts";
import { casesOf } from "./fixture.ts";

const SOURCE = "UTR #36, Unicode Security Considerations; CVE-2021-42574, Trojan Source";

/** Each text as it comes, and as it must be shown. */
const HIDDEN: readonly (readonly [text: string, shown: string])[] = [
  // Overrides, embeddings and isolates of direction, and the marks.
  ["photo\u202egpj.exe", "photo⟨U+202E⟩gpj.exe"],
  ["\u202a\u202b\u202c\u202d\u202e", "⟨U+202A⟩⟨U+202B⟩⟨U+202C⟩⟨U+202D⟩⟨U+202E⟩"],
  ["\u2066\u2067\u2068\u2069", "⟨U+2066⟩⟨U+2067⟩⟨U+2068⟩⟨U+2069⟩"],
  ["a\u200eb\u200fc\u061cd", "a⟨U+200E⟩b⟨U+200F⟩c⟨U+061C⟩d"],
  // What has no width, or no shape.
  ["rm\u200b -rf", "rm⟨U+200B⟩ -rf"],
  ["a\u200cb\u200dc\u2060d\ufeffe", "a⟨U+200C⟩b⟨U+200D⟩c⟨U+2060⟩d⟨U+FEFF⟩e"],
  ["soft\u00adhyphen", "soft⟨U+00AD⟩hyphen"],
  ["a\u2061b\u2062c\u2063d\u2064e", "a⟨U+2061⟩b⟨U+2062⟩c⟨U+2063⟩d⟨U+2064⟩e"],
  ["a\u034fb\u115fc\u3164d\uffa0e\u2800f", "a⟨U+034F⟩b⟨U+115F⟩c⟨U+3164⟩d⟨U+FFA0⟩e⟨U+2800⟩f"],
  ["\u{e0068}\u{e0069}", "⟨U+E0068⟩⟨U+E0069⟩"],
  ["a\ufe00b\u{e0100}c\ufe0fd", "a⟨U+FE00⟩b⟨U+E0100⟩c⟨U+FE0F⟩d"],
  // Controls: of terminals, of lines, of C1.
  ["a\nb\rc\td", "a⟨\\n⟩b⟨\\r⟩c⟨\\t⟩d"],
  ["\u0000\u0007\b\u001b[31m\u007f", "⟨U+0000⟩⟨U+0007⟩⟨U+0008⟩⟨U+001B⟩[31m⟨U+007F⟩"],
  ["a\u0085b\u009bc\u2028d\u2029e", "a⟨U+0085⟩b⟨U+009B⟩c⟨U+2028⟩d⟨U+2029⟩e"],
  // Spaces that are not the usual one.
  ["a\u00a0b\u2003c\u202fd\u3000e\u1680f", "a⟨U+00A0⟩b⟨U+2003⟩c⟨U+202F⟩d⟨U+3000⟩e⟨U+1680⟩f"],
  // What is no character: halves of pairs, private ones, those that are none.
  ["x\ud800y\udc00z", "x⟨U+D800⟩y⟨U+DC00⟩z"],
  ["\ue000\uffff\u{10ffff}", "⟨U+E000⟩⟨U+FFFF⟩⟨U+10FFFF⟩"],
  // More marks on a letter than any script has.
  ["a\u0301\u0302\u0303\u0304\u0305\u0306", "a\u0301\u0302\u0303\u0304⟨U+0305⟩⟨U+0306⟩"],
];

const LOOKALIKES: readonly (readonly [text: string, shown: string])[] = [
  ["p\u0430ypal", "p⟨\u0430 U+0430⟩ypal"],
  ["\u0440aypal.com", "⟨\u0440 U+0440⟩aypal.com"],
  ["g\u03bf\u03bfgle", "g⟨\u03bf U+03BF⟩⟨\u03bf U+03BF⟩gle"],
  ["\u0391dmin_role", "⟨\u0391 U+0391⟩dmin_role"],
  ["adm\u0456n", "adm⟨\u0456 U+0456⟩n"],
  ["v\u0585id", "v⟨\u0585 U+0585⟩id"],
  ["\u13a1un", "⟨\u13a1 U+13A1⟩un"],
  ["\uff52\uff4d", "⟨\uff52 U+FF52⟩⟨\uff4d U+FF4D⟩"],
  ["\u{1d42b}m", "⟨\u{1d42b} U+1D42B⟩m"],
  ["\u24d0bc", "⟨\u24d0 U+24D0⟩bc"],
  ["\u2170", "⟨\u2170 U+2170⟩"],
  [
    "etc\u2215passwd \u2044 \uff0f a\ua789 \u2236b",
    "etc⟨\u2215 U+2215⟩passwd ⟨\u2044 U+2044⟩ ⟨\uff0f U+FF0F⟩ a⟨\ua789 U+A789⟩ ⟨\u2236 U+2236⟩b",
  ],
  ["evil\uff0ecom\u2024", "evil⟨\uff0e U+FF0E⟩com⟨\u2024 U+2024⟩"],
];

/** What people write, which stays as it is. */
const HONEST = [
  "",
  "ls -la /etc/hosts",
  "привет, мир",
  "καλημέρα",
  "日本語、テスト。",
  "שלום",
  "مرحبا",
  "Straße, naïve, São Paulo, Łódź, İstanbul",
  "5 µm², 20 °C, 3 × 4, “quoted” – and … more",
  "❤️ 👩🏽‍💻 👨‍👩‍👧 #️⃣ 🏳️‍🌈",
  "Việt Nam e\u0301",
  "<script>alert('&amp;')</script>",
];

/** Nothing in a text hides from who reads it. */
export const visibleTextCases: readonly Case[] = casesOf(
  { topic: "visible-text", source: SOURCE },
  {
    "what-hides-is-shown": async () => {
      for (const [text, shown] of HIDDEN) equal([text, toVisibleText(text)], [text, shown]);
    },
    "what-looks-like-something-else-is-named": async () => {
      for (const [text, shown] of LOOKALIKES) equal([text, toVisibleText(text)], [text, shown]);
    },
    "what-people-write-stays": async () => {
      for (const text of HONEST) equal(toVisibleText(text), text);
    },
    "every-override-and-control-there-is-is-marked": async () => {
      const ranges = [
        [0, 0x1f],
        [0x7f, 0xa0],
        [0x200b, 0x200f],
        [0x2028, 0x202f],
        [0x2060, 0x206f],
        [0xfff0, 0xfffb],
        [0xe0000, 0xe0fff],
      ] as const;
      for (const [first, last] of ranges) {
        for (let code = first; code <= last; code += 1) {
          const [before, mark, after] = splitVisible(`a${String.fromCodePoint(code)}b`);
          equal([code, before?.text, mark?.mark, after?.text], [code, "a", "hidden", "b"]);
        }
      }
    },
    "lines-stay-where-asked": async () => {
      equal(toVisibleText("a\nb\tc\u200b\n", { keepsLines: true }), "a\nb⟨\\t⟩c⟨U+200B⟩\n");
    },
    "a-long-text-takes-no-longer-for-each-part": async () => {
      const text = "\u202ea\u0430\ufe0f\u0301".repeat(20_000);
      const parts = splitVisible(text);
      equal(parts.filter(({ mark }) => mark === "hidden").length, 40_000);
      ok(
        parts.every(({ text: shown }) => !shown.includes("\u202e")),
        "an override is left",
      );
    },
  },
);
