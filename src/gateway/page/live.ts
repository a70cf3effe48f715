/**
 * Shows new decisions without a reload. It fetches the page again when a decision was made, and puts the parts that change
 * in the place of the old ones; a part in which something has the focus or is selected is left alone. The page says
 * everything without it.
 */
export const LIVE_SCRIPT = `"use strict";
(() => {
  const button = document.querySelector("button[data-live]");
  if (button === null || !("EventSource" in window)) return;
  let source;
  let timer;
  const isInUse = (part) => {
    const selection = getSelection();
    const isSelected = selection !== null && !selection.isCollapsed && selection.containsNode(part, true);
    return isSelected || part.contains(document.activeElement);
  };
  const refresh = async () => {
    timer = undefined;
    const response = await fetch(location.href, { redirect: "error" }).catch(() => undefined);
    if (response !== undefined && response.status === 401) location.reload();
    if (response === undefined || !response.ok || source === undefined) return;
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
    for (const part of document.querySelectorAll("[data-part]")) {
      const other = fresh.getElementById(part.id);
      if (other !== null && !isInUse(part)) part.replaceWith(document.adoptNode(other));
    }
  };
  const show = (isOn) => {
    button.setAttribute("aria-pressed", String(isOn));
    button.textContent = isOn ? "Live" : "Paused";
  };
  const stop = () => {
    source?.close();
    source = undefined;
    show(false);
  };
  const start = () => {
    const opened = new EventSource(button.dataset.live);
    source = opened;
    opened.addEventListener("decision", () => {
      timer ??= setTimeout(refresh, 1000);
    });
    opened.addEventListener("error", () => {
      if (opened.readyState === EventSource.CLOSED && source === opened) stop();
    });
    show(true);
  };
  button.addEventListener("click", () => (source === undefined ? start() : stop()));
  button.hidden = false;
  start();
})();
`;
