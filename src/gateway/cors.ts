import type { OriginGuard } from "./origin.ts";

const ALLOWED_HEADERS = "authorization, content-type, hook-signature, idempotency-key, traceparent";

/** Lets pages of the configured origins read the answer, and ask beforehand whether they may call. */
export function addCors(
  response: Response,
  { request, guard }: { readonly request: Request; readonly guard: OriginGuard },
): Response {
  response.headers.append("vary", "origin");
  const origin = request.headers.get("origin");
  if (origin === null || !guard.allows(origin)) return response;
  response.headers.set("access-control-allow-origin", origin);
  if (request.method === "OPTIONS") {
    response.headers.set("access-control-allow-methods", "GET, POST, DELETE");
    response.headers.set("access-control-allow-headers", ALLOWED_HEADERS);
    response.headers.set("access-control-max-age", "600");
  } else {
    response.headers.set("access-control-expose-headers", "retry-after");
  }
  return response;
}
