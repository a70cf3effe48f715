import { type Starter, type StarterOptions, toReadme } from "./starter.ts";

const TEST = `"""python3 -m unittest test_endpoint"""

import json
import threading
import unittest
import urllib.error
import urllib.request

import approval_endpoint as endpoint

CALL = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": "019ab697-e800-7000-8000-000000000001",
        "method": "hook.approve_tool",
        "params": {"tool": "read_file", "arguments": {}},
    }
).encode()


class HookTest(unittest.TestCase):
    def test_approves_what_only_reads_and_nothing_else(self):
        self.assertTrue(endpoint.approve_tool({"tool": "read_file"})["approved"])
        self.assertFalse(endpoint.approve_tool({"tool": "shell"})["approved"])


class EndpointTest(unittest.TestCase):
    def setUp(self):
        endpoint.Handler.endpoint = endpoint.Endpoint(
            [b"a secret for tests only, which nobody else has"], "https://hooks.example.com/hook", "hookgate", "approvals"
        )
        self.server = endpoint.Server(("127.0.0.1", 0), endpoint.Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def tearDown(self):
        self.server.shutdown()
        self.server.server_close()

    def refusal(self, headers):
        url = f"http://127.0.0.1:{self.server.server_address[1]}/hook"
        request = urllib.request.Request(url, CALL, {"content-type": "application/json", **headers})
        with self.assertRaises(urllib.error.HTTPError) as raised:
            urllib.request.urlopen(request)
        with raised.exception as response:
            return response.code, response.read().decode()

    def test_a_call_without_a_signature_is_refused(self):
        status, text = self.refusal({})
        self.assertEqual(status, 401)
        self.assertIn("signature_missing", text)

    def test_a_call_that_somebody_else_signed_is_refused(self):
        signature = "eyJhbGciOiJub25lIiwidHlwIjoiaG9vay1yZXF1ZXN0K2p3dCJ9.e30.e30"
        status, _ = self.refusal({"hook-signature": signature})
        self.assertEqual(status, 401)


if __name__ == "__main__":
    unittest.main()
`;

/** A starter for Python, with its standard library only. */
export async function createPythonStarter({ name, readExample }: StarterOptions): Promise<Starter> {
  const source = await readExample("approval_endpoint.py");
  const own = source
    .replaceAll("examples/approval_endpoint.py", "approval_endpoint.py")
    .replaceAll("(default: approvals)", `(default: ${name})`)
    .replaceAll(`"HOOK_NAME", "approvals"`, `"HOOK_NAME", ${JSON.stringify(name)}`);
  return {
    files: {
      "approval_endpoint.py": own,
      "test_endpoint.py": TEST,
      "README.md": toReadme({
        name,
        start:
          "`python3 -m unittest test_endpoint` tests it, `python3 approval_endpoint.py` serves it on 127.0.0.1:8788: put TLS in\nfront. The policy is at the top of approval_endpoint.py.",
      }),
    },
    next: ["python3 -m unittest test_endpoint", "python3 approval_endpoint.py"],
  };
}
