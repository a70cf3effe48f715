/** The longest delay a timer of the web platform can hold, in milliseconds (2^31 - 1); a longer one would fire at once. */
export const MAX_DELAY_MS = 2_147_483_647;

/**
 * Whether a promise settles within a time in milliseconds; less than 0 counts as 0, more than 2^31 - 1 as that. It leaves no timer behind,
 * and it never rejects.
 */
export function settlesWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), Math.min(Math.max(0, ms), MAX_DELAY_MS));
    const settle = (): void => {
      clearTimeout(timer);
      resolve(true);
    };
    promise.then(settle, settle);
  });
}
