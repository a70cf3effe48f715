/**
 * Whether a form was sent by a page of this gateway. A browser says where a form comes from, in a header that no page can
 * change; a form of another site is refused, and so is a program that says nothing.
 * @see {@link https://www.w3.org/TR/fetch-metadata/} and {@link https://fetch.spec.whatwg.org/#origin-header}
 */
export function isOwnForm({ url, headers }: { readonly url: string; readonly headers: Headers }): boolean {
  const site = headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin") return false;
  const origin = headers.get("origin");
  if (origin === null) return site === "same-origin";
  const host = headers.get("host") ?? new URL(url).host;
  return origin === `http://${host}` || origin === `https://${host}`;
}

/**
 * Whether a form that carries its own secret in its address may have been sent by its page. That page sends no referrer, so
 * that the secret stays with it, and a browser then says `null` for where the form comes from; another site says its name.
 */
export function isOwnLinkForm(request: { readonly url: string; readonly headers: Headers }): boolean {
  const { headers } = request;
  const site = headers.get("sec-fetch-site");
  if (headers.get("origin") === "null" && (site === null || site === "same-origin")) return true;
  return isOwnForm(request);
}

/** Whether the browser reaches the gateway over TLS, which a proxy before it may end. */
export function isSecure({ url, headers }: { readonly url: string; readonly headers: Headers }): boolean {
  return url.startsWith("https:") || headers.get("origin")?.startsWith("https:") === true;
}
