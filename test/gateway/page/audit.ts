/** How light the ground is, and each text with less contrast than WCAG 2.2 asks for (1.4.3). */
export const CONTRASTS = `(() => {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const paint = (...colors) => {
    context.clearRect(0, 0, 1, 1);
    for (const color of colors) {
      context.fillStyle = color;
      context.fillRect(0, 0, 1, 1);
    }
    return [...context.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const groundsOf = (node) => (node === null ? ["white"] : [...groundsOf(node.parentElement), getComputedStyle(node).backgroundColor]);
  const faint = [];
  for (const node of document.querySelectorAll("body *")) {
    const isText = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim() !== "");
    if (!isText || !node.checkVisibility()) continue;
    const ground = light(paint(...groundsOf(node)));
    const text = light(paint(...groundsOf(node), getComputedStyle(node).color));
    const contrast = (Math.max(ground, text) + 0.05) / (Math.min(ground, text) + 0.05);
    if (contrast < 4.5) faint.push(node.className + " " + contrast.toFixed(2) + " " + node.textContent.slice(0, 40));
  }
  return [light(paint(...groundsOf(document.body))), faint];
})()`;

/** Whatever reaches beyond the page. */
export const TOO_WIDE = `(() => {
  const wide = [...document.querySelectorAll("body *")].filter((node) => {
    const box = node.getBoundingClientRect();
    return box.width > 1 && (box.right > innerWidth + 0.5 || box.left < -0.5) && !node.closest("thead");
  });
  const scrolls = document.documentElement.scrollWidth > innerWidth ? ["the page scrolls"] : [];
  return [...scrolls, ...wide.map((node) => node.tagName + " " + node.className)];
})()`;

/** Whatever one who does not see it cannot tell from another. */
export const UNNAMED = `(() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const problems = [];
  const ids = all("[id]").map((node) => node.id);
  if (new Set(ids).size !== ids.length) problems.push("an id is there twice: " + ids);
  if (document.documentElement.lang === "") problems.push("no language");
  if (all("h1").length !== 1 || all("main").length !== 1) problems.push("not one h1 and one main");
  for (const table of all("table")) if (table.caption === null) problems.push("a table without a caption");
  for (const head of all("th")) if (head.scope === "") problems.push("a head without a scope: " + head.textContent);
  for (const field of all("input:not([type=hidden]), select, textarea")) if (field.labels.length === 0) problems.push("a field without a label: " + field.name);
  for (const part of all("section")) if (document.getElementById(part.getAttribute("aria-labelledby")) === null) problems.push("a section without a name");
  for (const part of all("nav")) if (!part.hasAttribute("aria-label")) problems.push("a nav without a name");
  for (const button of all("button, a")) if (button.textContent.trim() === "") problems.push("a button or link without a text");
  const levels = all("h1, h2, h3").map((node) => Number(node.tagName[1]));
  if (levels.some((level, index) => index > 0 && level > levels[index - 1] + 1)) problems.push("a heading is skipped: " + levels);
  return problems;
})()`;
