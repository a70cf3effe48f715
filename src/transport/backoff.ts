const BASE_MS = 100;
const MAX_MS = 30_000;

/**
 * How long to wait before a process is started again: 100 ms after the first failure, doubling to 30 s, of which a
 * random part of up to half is taken off so that many hooks do not start at once.
 * @param failures - how often in a row it has ended, 1 or more
 * @param random - from 0 up to but not 1
 */
export function backoffMs(failures: number, random: number): number {
  const ceilingMs = Math.min(MAX_MS, BASE_MS * 2 ** (failures - 1));
  return ceilingMs * (1 - random / 2);
}
