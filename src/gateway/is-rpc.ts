/** Whether a request is a POST to `/rpc`, with whatever query. */
export function isRpc({ method, url }: Request): boolean {
  if (method !== "POST") return false;
  const start = url.indexOf("/", "https://".length);
  return url.startsWith("/rpc", start) && (url.length === start + 4 || url.charAt(start + 4) === "?");
}
