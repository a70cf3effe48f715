import type { Hono } from "hono";
import * as z from "zod";
import {
  MAX_PAGE_RECORDS,
  type RecordFilter,
  type RecordHub,
  type Recording,
  type RecordStore,
} from "../records/index.ts";
import { answerJson, answerRefusal, answerText, type Refusal } from "./answer.ts";
import type { PeerInfo } from "./origin.ts";
import { streamEvents } from "./events.ts";
import { limitSchema, parseQuery } from "./query.ts";
import { overloaded } from "./refusals.ts";

/** Counts of what the gateway does, as Prometheus reads them. */
export interface MetricsPage {
  readonly contentType: string;
  text(): Promise<string>;
}

/** What the gateway shows of the decisions that were made. */
export interface RecordPages {
  /** Makes the records; with a hub, tells of them as they are made. @default none: there is no `/v1/events` */
  readonly recording?: (Pick<Recording, "status"> & Partial<Pick<Recording, "hub">>) | undefined;
  /** Where records are looked up. @default nowhere: there is no `/v1/records` */
  readonly records?: RecordStore | undefined;
  /**
   * Ends the streams of `/v1/events` when it aborts: their readers come again and are looked at anew. @default they go on
   * for as long as they are read
   */
  readonly streamsEnd?: AbortSignal | undefined;
  /** @default none: there is no `/metrics` */
  readonly metrics?: MetricsPage | undefined;
  /** Why paths are not here, by path, for those who may read. @default they are no paths */
  readonly absent?: Readonly<Record<string, string>> | undefined;
}

/** Whether a request may read what the gateway shows. */
export type RefuseReader = (request: Request, info: PeerInfo) => Promise<Refusal | undefined>;

/** How many may watch events at once. */
const MAX_WATCHERS = 64;
const DEFAULT_PAGE = 50;

const filterSchema = z.object({
  session: z.string().optional(),
  tool: z.string().optional(),
  outcome: z.string().optional(),
});

const listSchema = filterSchema.extend({
  limit: limitSchema(MAX_PAGE_RECORDS, DEFAULT_PAGE),
  cursor: z
    .string()
    .regex(/^\d{1,15}$/, "expected the next of another page")
    .optional(),
  since: z.iso
    .datetime({ offset: true, error: "expected a time such as 2026-11-28T12:00:00Z" })
    .transform((time) => Date.parse(time))
    .optional(),
});

/** The paths there are, as {@link addRecordRoutes} adds them. */
export function recordPaths({ recording, records, metrics }: RecordPages): readonly string[] {
  return [
    ...(records === undefined ? [] : ["/v1/records"]),
    ...(recording?.hub === undefined ? [] : ["/v1/events"]),
    ...(metrics === undefined ? [] : ["/metrics"]),
  ];
}

/** Adds `/v1/records`, `/v1/records/:id`, `/v1/events` and `/metrics`, for those who may read. */
export function addRecordRoutes(
  app: Hono<{ Bindings: PeerInfo }>,
  { recording, records, metrics, streamsEnd, absent = {} }: RecordPages,
  refuse: RefuseReader,
): void {
  const guarded =
    (answer: (request: Request, id: string) => Response | Promise<Response>) =>
    async ({ req, env }: { req: { raw: Request; param(name: string): string | undefined }; env: PeerInfo }) => {
      const refusal = await refuse(req.raw, env);
      return refusal === undefined ? answer(req.raw, req.param("id") ?? "") : answerRefusal(refusal);
    };
  if (records !== undefined) {
    app.get(
      "/v1/records",
      guarded((request) => listRecords(request, records)),
    );
    app.get(
      "/v1/records/:id",
      guarded((_request, id) => showRecord(id, records)),
    );
  }
  const hub = recording?.hub;
  if (hub !== undefined) {
    app.get(
      "/v1/events",
      // By then it may be another.
      guarded((request) => watchRecords(request, { hub: recording?.hub ?? hub, streamsEnd })),
    );
  }
  if (metrics !== undefined) {
    const page = async (): Promise<Response> =>
      answerText(await metrics.text(), 200, { "content-type": metrics.contentType });
    app.get("/metrics", guarded(page));
  }
  for (const [path, message] of Object.entries(absent)) {
    app.get(
      path,
      guarded(() => answerRefusal({ code: "ERR_METHOD_NOT_FOUND", message })),
    );
  }
}

async function listRecords(request: Request, store: RecordStore): Promise<Response> {
  const query = parseQuery(request, listSchema);
  if ("code" in query) return answerRefusal(query);
  const { limit, cursor, since: sinceMs, ...filter } = query;
  const page = await store.list({ ...filter, sinceMs, cursor, maxRecords: limit });
  // Each is JSON already, as it is kept.
  return answerText(`{"records":[${page.records.join(",")}],"next":${JSON.stringify(page.next ?? null)}}`);
}

async function showRecord(id: string, store: RecordStore): Promise<Response> {
  const record = await store.get(id);
  if (record !== undefined) return answerText(record);
  return answerJson({ error: "there is no record of this id" }, { status: 404 });
}

function watchRecords(
  request: Request,
  { hub, streamsEnd }: { readonly hub: RecordHub } & Pick<RecordPages, "streamsEnd">,
): Response {
  const query = parseQuery(request, filterSchema);
  if ("code" in query) return answerRefusal(query);
  if (hub.size >= MAX_WATCHERS) return answerRefusal(overloaded(`${MAX_WATCHERS} clients are watching already`));
  const filter: RecordFilter = query;
  const signal = streamsEnd === undefined ? request.signal : AbortSignal.any([request.signal, streamsEnd]);
  return streamEvents(hub, { filter, signal });
}
