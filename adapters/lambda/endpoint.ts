import type { HookEndpoint } from "../../src/endpoint/hook-endpoint.ts";

/**
 * An HTTP request as Lambda gets it: of a function URL or an API Gateway HTTP API (payload 2.0), or of a REST API or a
 * load balancer (1.0). Only what is read is named.
 * @see {@link https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html}
 */
export interface LambdaEvent {
  readonly headers?: Readonly<Record<string, string | undefined>> | null;
  /** Payload 1.0: every value of each header, where `headers` has the last. */
  readonly multiValueHeaders?: Readonly<Record<string, readonly string[] | undefined>> | null;
  readonly rawPath?: string;
  readonly path?: string;
  readonly httpMethod?: string;
  readonly requestContext?: { readonly http?: { readonly method?: string } };
  readonly body?: string | null;
  readonly isBase64Encoded?: boolean;
}

/** An HTTP response as Lambda takes it. */
export interface LambdaResult {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly isBase64Encoded: boolean;
}

/**
 * Makes a Lambda handler of a hook endpoint. The answer waits for events, since nothing is sure to run after it. Give the
 * endpoint a replay store that all instances share, or a recorded request counts once more in each instance for 90 s.
 */
export function createLambdaHandler(endpoint: HookEndpoint): (event: LambdaEvent) => Promise<LambdaResult> {
  return async (event) => {
    const response = await endpoint.fetch(toRequest(event));
    return {
      statusCode: response.status,
      headers: Object.fromEntries(response.headers),
      body: await response.text(),
      isBase64Encoded: false,
    };
  };
}

function toRequest(event: LambdaEvent): Request {
  const method = event.requestContext?.http?.method ?? event.httpMethod;
  // Of the URL only the path counts; the domain is whatever the caller used.
  const url = `https://endpoint.invalid${event.rawPath ?? event.path ?? "/"}`;
  const headers = toHeaders(event);
  if (method === "POST") return new Request(url, { method, headers, body: toBytes(event) });
  // Every other method is refused alike, also those that a request cannot be made with.
  return new Request(url, { method: method === "GET" ? method : "HEAD", headers });
}

function toHeaders({ headers, multiValueHeaders }: LambdaEvent): Headers {
  const all = new Headers();
  for (const [name, values] of Object.entries(multiValueHeaders ?? {})) {
    for (const value of values ?? []) all.append(name, value);
  }
  for (const [name, value] of Object.entries(headers ?? {})) {
    if (value !== undefined && !all.has(name)) all.set(name, value);
  }
  return all;
}

/** The bytes that were signed. */
function toBytes({ body, isBase64Encoded }: LambdaEvent): Uint8Array<ArrayBuffer> {
  if (!isBase64Encoded) return new TextEncoder().encode(body ?? "");
  return Uint8Array.from(atob(body ?? ""), (unit) => unit.charCodeAt(0));
}
