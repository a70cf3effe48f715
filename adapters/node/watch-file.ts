import { stat } from "node:fs/promises";

/** Options of {@link watchFile}. */
export interface WatchFileOptions {
  /** How often the file is looked at, in milliseconds. @default 500 */
  readonly intervalMs?: number | undefined;
}

/**
 * Calls `listener` when a file is another than before and has been so for one look, so that one which is being written
 * is left alone; also when it was not there at first. It looks instead of being told: an editor that renames, a symbolic link that is turned (as Kubernetes
 * does), a network or container mount all end in another `stat`, and not all of them in an event.
 * @returns lets go of the file
 */
export function watchFile(path: string, listener: () => void, { intervalMs = 500 }: WatchFileOptions = {}): () => void {
  let known: string | undefined;
  let seen: string | undefined;
  let isKnown = false;
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;

  async function look(): Promise<void> {
    const found = await fingerprint(path);
    if (isStopped) return;
    if (!isKnown) known = found;
    isKnown = true;
    // A file that is gone for a moment is being replaced.
    const isChanged = found !== undefined && found !== known;
    if (isChanged && found === seen) {
      known = found;
      listener();
    }
    seen = found;
    timer = setTimeout(() => void look(), intervalMs).unref();
  }

  void look();
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}

async function fingerprint(path: string): Promise<string | undefined> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(":");
  } catch {
    return undefined;
  }
}
