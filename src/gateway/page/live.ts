/**
 * Shows what is new without a reload. It counts down the time that is left; it fetches the page again when something has
 * changed, and puts the parts that change in the place of the old ones. A part in which something has the focus, is selected
 * or was filled in is left alone, and nothing moves under a finger: what is new in a list comes last, and what is gone from
 * it keeps its place and can be pressed no more. The page says everything without it.
 */
export const LIVE_SCRIPT = `"use strict";
(() => {
  const toTimeLeft = (ms) => {
    if (ms <= 0) return "no time left";
    const seconds = Math.floor(ms / 1000);
    if (seconds < 120) return seconds + " s left";
    const minutes = Math.floor(seconds / 60);
    if (minutes < 60) return minutes + " min left";
    const hours = Math.floor(minutes / 60);
    return hours < 48 ? hours + " h " + (minutes % 60) + " min left" : Math.floor(hours / 24) + " days left";
  };
  const ends = new WeakMap();
  const count = () => {
    for (const node of document.querySelectorAll("[data-left]")) {
      if (!ends.has(node)) ends.set(node, performance.now() + Number(node.dataset.left));
      const text = toTimeLeft(ends.get(node) - performance.now());
      if (node.textContent !== text) node.textContent = text;
    }
  };
  if (document.querySelector("[data-live], [data-left]") !== null) {
    count();
    setInterval(count, 1000);
  }

  const button = document.querySelector("button[data-live]");
  if (button === null || !("EventSource" in window)) return;
  let source;
  let timer;
  const isFilled = (field) =>
    field.tagName === "SELECT" ? field.selectedIndex > 0 : field.value !== field.defaultValue;
  const isInUse = (part) => {
    const selection = getSelection();
    const isSelected = selection !== null && !selection.isCollapsed && selection.containsNode(part, true);
    const isFilledIn = [...part.querySelectorAll("form.decide select, form.decide textarea")].some(isFilled);
    return isSelected || isFilledIn || part.contains(document.activeElement);
  };
  const retire = (item) => {
    for (const field of item.querySelectorAll("button, select, textarea")) field.disabled = true;
    for (const left of item.querySelectorAll("[data-left]")) {
      left.removeAttribute("data-left");
      left.textContent = "not pending any more";
    }
    item.classList.add("gone");
  };
  const refreshList = (list, fresh) => {
    const other = fresh.getElementById(list.id);
    if (other === null) return;
    for (const item of list.children) if (fresh.getElementById(item.id) === null) retire(item);
    for (const item of [...other.children]) {
      if (document.getElementById(item.id) === null) list.append(document.adoptNode(item));
    }
  };
  const refresh = async () => {
    timer = undefined;
    const response = await fetch(location.href, { redirect: "error" }).catch(() => undefined);
    if (response !== undefined && response.status === 401) location.reload();
    if (response === undefined || !response.ok || source === undefined) return;
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
    document.title = fresh.title;
    for (const list of document.querySelectorAll("[data-list]")) refreshList(list, fresh);
    for (const part of document.querySelectorAll("[data-part]")) {
      const other = fresh.getElementById(part.id);
      if (other !== null && !isInUse(part)) part.replaceWith(document.adoptNode(other));
    }
    count();
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
    for (const name of (button.dataset.events ?? "decision").split(" ")) {
      opened.addEventListener(name, () => {
        timer ??= setTimeout(refresh, Number(button.dataset.delay ?? 1000));
      });
    }
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
