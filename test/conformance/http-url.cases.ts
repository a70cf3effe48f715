import { parseHookUrl } from "../../src/transport/http-url.ts";
import { toAddressScope } from "../../src/transport/ip-address.ts";
import { type Case, equal, ok } from "./case.ts";
import { httpCase, thrownBy } from "./fake-exchange.ts";

/** Where a hook may be. */
export const httpUrlCases: readonly Case[] = [
  httpCase("urls-keep-the-rules", () => {
    const table: readonly (readonly [string, Parameters<typeof parseHookUrl>[1], boolean])[] = [
      ["https://hooks.test/a?b=c", {}, true],
      ["https://10.0.0.1/", {}, true],
      ["http://127.0.0.1:80/", {}, true],
      ["http://[::1]/", {}, true],
      ["http://localhost:3000/", {}, true],
      ["http://api.localhost/", {}, true],
      ["http://127.1/", {}, true],
      ["http://hooks.test/", {}, false],
      ["http://localhost.evil.test/", {}, false],
      ["http://10.0.0.1/", {}, false],
      ["http://0.0.0.0/", {}, false],
      ["http://hooks.test/", { allowInsecure: true }, true],
      ["ftp://hooks.test/", {}, false],
      ["file:///etc/passwd", {}, false],
      ["hooks.test", {}, false],
      ["", {}, false],
      ["https://user@hooks.test/", {}, false],
      ["https://:secret@hooks.test/", {}, false],
      ["https://169.254.169.254/", {}, false],
      ["https://2852039166/", {}, false],
      ["https://0xa9.0xfe.0xa9.0xfe/", {}, false],
      ["https://[fe80::1]/", {}, false],
      ["https://[fd00:ec2::254]/", {}, false],
      ["https://[::ffff:169.254.169.254]/", {}, false],
      ["https://169.254.169.254./", {}, false],
      ["http://169.254.169.254/", { allowInsecure: true }, false],
      ["https://hooks.test/", { allowPrivate: false }, true],
      ["https://8.8.8.8/", { allowPrivate: false }, true],
      ["https://10.0.0.1/", { allowPrivate: false }, false],
      ["https://localhost/", { allowPrivate: false }, false],
      ["https://localhost./", { allowPrivate: false }, false],
      ["http://127.0.0.1/", { allowPrivate: false }, false],
      ["https://[fc00::1]/", { allowPrivate: false }, false],
      ["https://8.8.8.8/", { allowAddress: false }, false],
    ];
    for (const [url, options, isAllowed] of table) {
      const error = thrownBy(() => parseHookUrl(url, options));
      equal([url, options, error === undefined], [url, options, isAllowed]);
      ok(error === undefined || (error instanceof TypeError && !error.message.includes("secret")), String(error));
    }
  }),
  httpCase("a-fragment-is-not-sent", () => {
    equal(parseHookUrl("https://hooks.test/a#b").href, "https://hooks.test/a");
  }),
  httpCase("addresses-lead-where-they-lead-in-whatever-form", () => {
    const table: readonly (readonly [string, string | undefined])[] = [
      ["8.8.8.8", "public"],
      ["2606:4700::1111", "public"],
      ["127.0.0.1", "loopback"],
      ["127.255.0.1", "loopback"],
      ["::1", "loopback"],
      ["0:0:0:0:0:0:0:1", "loopback"],
      ["[::1]", "loopback"],
      ["::ffff:127.0.0.1", "loopback"],
      ["::ffff:7f00:1", "loopback"],
      ["169.254.0.1", "forbidden"],
      ["169.254.169.254", "forbidden"],
      ["100.100.100.200", "forbidden"],
      ["168.63.129.16", "forbidden"],
      ["192.0.0.192", "forbidden"],
      ["fe80::1%eth0", "forbidden"],
      ["FEBF::1", "forbidden"],
      ["fd00:ec2::254", "forbidden"],
      ["fd20:ce::254", "forbidden"],
      ["::ffff:169.254.169.254", "forbidden"],
      ["::ffff:a9fe:a9fe", "forbidden"],
      ["::ffff:0:169.254.169.254", "forbidden"],
      ["64:ff9b::a9fe:a9fe", "forbidden"],
      ["2002:a9fe:a9fe::1", "forbidden"],
      ["::a9fe:a9fe", "forbidden"],
      ["10.1.2.3", "private"],
      ["172.16.0.1", "private"],
      ["172.31.255.255", "private"],
      ["172.32.0.1", "public"],
      ["192.168.0.1", "private"],
      ["100.64.0.1", "private"],
      ["100.128.0.1", "public"],
      ["0.0.0.0", "private"],
      ["224.0.0.1", "private"],
      ["255.255.255.255", "private"],
      ["::", "private"],
      ["fc00::1", "private"],
      ["fdff::1", "private"],
      ["fec0::1", "private"],
      ["ff02::1", "private"],
      ["2001:db8::1", "private"],
      ["64:ff9b::808:808", "private"],
      ["2001:0:1::", "private"],
      ["2001:200::", "public"],
      ["hooks.test", undefined],
      ["1.2.3", undefined],
      ["1.2.3.256", undefined],
      ["01.2.3.4", undefined],
      ["1.2.3.4.5", undefined],
      ["::1::", undefined],
      ["1:2:3:4:5:6:7", undefined],
      ["1:2:3:4:5:6:7:8:9", undefined],
      ["1:2:3:4:5:6:7:8::", undefined],
      ["::ffff:1.2.3", undefined],
      ["12345::", undefined],
      ["", undefined],
    ];
    for (const [address, expected] of table) equal([address, toAddressScope(address)], [address, expected]);
  }),
];
