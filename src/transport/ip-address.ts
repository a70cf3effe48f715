/**
 * What an IP address leads to. `forbidden` are link-local and cloud metadata addresses, which hand out credentials to
 * whoever can make a server send a request; `private` is everything else that is not on the public internet.
 */
export type AddressScope = "public" | "private" | "loopback" | "forbidden";

type Block = readonly [prefix: string, bits: number, scope: AddressScope];

/** The first that matches counts. */
const IPV4: readonly Block[] = [
  ["169.254.0.0", 16, "forbidden"],
  // Metadata and platform services outside the link-local block: Alibaba Cloud, Azure, Oracle Cloud.
  ["100.100.100.200", 32, "forbidden"],
  ["168.63.129.16", 32, "forbidden"],
  ["192.0.0.192", 32, "forbidden"],
  ["127.0.0.0", 8, "loopback"],
  ["0.0.0.0", 8, "private"],
  ["10.0.0.0", 8, "private"],
  ["100.64.0.0", 10, "private"],
  ["172.16.0.0", 12, "private"],
  ["192.0.0.0", 24, "private"],
  ["192.0.2.0", 24, "private"],
  ["192.88.99.0", 24, "private"],
  ["192.168.0.0", 16, "private"],
  ["198.18.0.0", 15, "private"],
  ["198.51.100.0", 24, "private"],
  ["203.0.113.0", 24, "private"],
  ["224.0.0.0", 4, "private"],
  ["240.0.0.0", 4, "private"],
];

const IPV6: readonly Block[] = [
  ["fe80::", 10, "forbidden"],
  // Metadata: AWS, Google Cloud.
  ["fd00:ec2::254", 128, "forbidden"],
  ["fd20:ce::254", 128, "forbidden"],
  ["::1", 128, "loopback"],
  ["::", 96, "private"],
  ["::ffff:0:0:0", 96, "private"],
  ["64:ff9b::", 96, "private"],
  ["64:ff9b:1::", 48, "private"],
  ["100::", 64, "private"],
  ["2001::", 23, "private"],
  ["2001:db8::", 32, "private"],
  ["2002::", 16, "private"],
  ["3fff::", 20, "private"],
  ["5f00::", 16, "private"],
  ["fc00::", 7, "private"],
  ["fec0::", 10, "private"],
  ["ff00::", 8, "private"],
];

/** Prefixes behind which an IPv4 address stands in an IPv6 one, and at which byte. */
const EMBEDDED: readonly (readonly [prefix: string, bits: number, offset: number])[] = [
  ["::ffff:0:0", 96, 12],
  ["::ffff:0:0:0", 96, 12],
  ["64:ff9b::", 96, 12],
  ["::", 96, 12],
  ["2002::", 16, 2],
];
const MAPPED = "::ffff:0:0";

/**
 * What an address leads to, whatever form it is written in.
 * @returns undefined when the text is not an IP address
 * @see {@link https://www.iana.org/assignments/iana-ipv6-special-registry/}
 */
export function toAddressScope(text: string): AddressScope | undefined {
  const bytes = parseAddress(text);
  if (bytes === undefined) return undefined;
  if (bytes.length === 4) return scopeOf(bytes, IPV4);
  if (matches(bytes, MAPPED, 96)) return scopeOf(bytes.subarray(12), IPV4);
  const scope = scopeOf(bytes, IPV6);
  const leadsToForbidden = EMBEDDED.some(
    ([prefix, bits, offset]) =>
      matches(bytes, prefix, bits) && scopeOf(bytes.subarray(offset, offset + 4), IPV4) === "forbidden",
  );
  return leadsToForbidden ? "forbidden" : scope;
}

function scopeOf(bytes: Uint8Array, blocks: readonly Block[]): AddressScope {
  return blocks.find(([prefix, bits]) => matches(bytes, prefix, bits))?.[2] ?? "public";
}

const PREFIXES = new Map<string, Uint8Array | undefined>();

function matches(bytes: Uint8Array, prefix: string, bits: number): boolean {
  if (!PREFIXES.has(prefix)) PREFIXES.set(prefix, parseAddress(prefix));
  const expected = PREFIXES.get(prefix);
  if (expected?.length !== bytes.length) return false;
  for (let index = 0, left = bits; left > 0; index += 1, left -= 8) {
    const shift = Math.max(0, 8 - left);
    if ((bytes[index] ?? 0) >> shift !== (expected[index] ?? 0) >> shift) return false;
  }
  return true;
}

/** 4 or 16 bytes; a zone and the brackets of a URL are left out. */
function parseAddress(text: string): Uint8Array | undefined {
  const bare = text.replace(/^\[(.*)\]$/, "$1").replace(/%.*$/s, "");
  return bare.includes(":") ? parseIpv6(bare) : parseIpv4(bare);
}

function parseIpv4(text: string): Uint8Array | undefined {
  const parts = text.split(".");
  if (parts.length !== 4) return undefined;
  const bytes = parts.map((part) => (/^(?:0|[1-9]\d{0,2})$/.test(part) ? Number(part) : 256));
  return bytes.every((byte) => byte < 256) ? Uint8Array.from(bytes) : undefined;
}

function parseIpv6(text: string): Uint8Array | undefined {
  const halves = toHexTail(text)?.split("::");
  if (halves === undefined || halves.length > 2) return undefined;
  const [head, tail] = halves.map((half) => (half === "" ? [] : half.split(":")));
  const given = [...(head ?? []), ...(tail ?? [])];
  const missing = 8 - given.length;
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined;
  if (!given.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return undefined;
  const groups = [...(head ?? []), ...Array.from({ length: missing }, () => "0"), ...(tail ?? [])];
  return Uint8Array.from(
    groups.flatMap((group) => {
      const value = Number.parseInt(group, 16);
      return [value >> 8, value & 255];
    }),
  );
}

/** The IPv4 form of the last four bytes, written as the two groups it stands for. */
function toHexTail(text: string): string | undefined {
  if (!text.includes(".")) return text;
  const at = text.lastIndexOf(":") + 1;
  const [a = 0, b = 0, c = 0, d] = parseIpv4(text.slice(at)) ?? [];
  if (d === undefined) return undefined;
  return `${text.slice(0, at)}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}
