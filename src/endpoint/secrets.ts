import type { EndpointSecret, HookEndpointOptions } from "./options.ts";

/**
 * The secrets that are there, the newest first.
 * @throws {TypeError} when there is none, or one is neither text nor bytes
 */
export function listSecrets(secret: NonNullable<HookEndpointOptions["secret"]>): readonly EndpointSecret[] {
  const list = typeof secret === "string" || secret instanceof Uint8Array ? [secret] : secret;
  const secrets = list.filter((one) => one !== undefined);
  if (secrets.length === 0) throw new TypeError("secret must list at least one secret");
  for (const one of secrets) {
    if (typeof one !== "string" && !(one instanceof Uint8Array)) {
      throw new TypeError(`secret must be text or bytes, got ${typeof one}`);
    }
  }
  return secrets;
}
