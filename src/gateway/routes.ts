import { APPROVAL_PATHS } from "./approvals.ts";
import type { GatewayOptions } from "./options.ts";
import { APPROVALS_PATH, PAGE_ROUTES } from "./page/index.ts";
import { recordPaths } from "./records.ts";

/** Where the gateway's public keys are. */
export const JWKS_PATH = "/.well-known/jwks.json";

/** Where the configuration is read again. */
export const RELOAD_PATH = "/v1/reload";

const ROUTES: readonly (readonly [path: string, allow: string])[] = [
  ["/rpc", "POST"],
  ["/healthz", "GET, HEAD"],
  ["/readyz", "GET, HEAD"],
  ["/v1/hooks", "GET, HEAD"],
  ...PAGE_ROUTES,
];

/** The paths there are, and the methods each allows. */
export function toRoutes({ jwks, approvals, reload, ...pages }: Partial<GatewayOptions>): ReadonlyMap<string, string> {
  const paths = [
    ...recordPaths(pages),
    ...(approvals === undefined ? [] : [...APPROVAL_PATHS, APPROVALS_PATH]),
    ...(jwks === undefined ? [] : [JWKS_PATH]),
  ];
  return new Map([
    ...ROUTES,
    ...paths.map((path) => [path, "GET, HEAD"] as const),
    ...(reload === undefined ? [] : [[RELOAD_PATH, "POST"] as const]),
  ]);
}
