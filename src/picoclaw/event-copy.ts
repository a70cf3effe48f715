import { Current } from "../chain/index.ts";
import type { Log } from "../log.ts";
import { type HookEvent, type HostEvent, toDocumentedKind } from "./event.ts";
import { toMeta } from "./normalize.ts";

/** An event as observers are told of it later, when the host may have changed its own; undefined when it cannot be copied. */
export function copyEvent(event: HostEvent, log: Log): Current<HookEvent> | undefined {
  let kind: string | undefined;
  try {
    const { Kind, Time, Meta, Payload } = event;
    kind = Kind;
    const copy = structuredClone({ Meta, Payload });
    return new Current<HookEvent>({
      Kind: toDocumentedKind(Kind),
      Time: Time ?? new Date().toISOString(),
      Meta: toMeta(copy.Meta),
      ...(Payload === undefined ? {} : { Payload: copy.Payload }),
    });
  } catch {
    log.warn("event dropped: it cannot be copied", { kind });
    return undefined;
  }
}
