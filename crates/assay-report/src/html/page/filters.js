// The chips: what is shown, and what is not.

/** More values than that are behind a button. */
const MOST_CHIPS = 40;

function choose(dim, value, chosen) {
  let next;
  if (value === null) next = [];
  else if (dim.one) next = [value];
  else next = chosen.includes(value) ? chosen.filter((one) => one !== value) : [...chosen, value];
  state.chosen[dim.id] = next;
  update();
}

/** What another suite, storage or machine may not have is forgotten when it is chosen. */
function forget(offered) {
  for (const { dim, values } of offered) {
    const kept = (state.chosen[dim.id] ?? []).filter((value) => values.includes(value));
    if (kept.length) state.chosen[dim.id] = kept;
    else delete state.chosen[dim.id];
  }
}

function drawFilters({ offered, columns }) {
  forget(offered);
  const idle = new Set(columns.without.map((column) => DATA.engines[column.engine].name));
  const focus = document.activeElement?.dataset?.chip;
  const groups = offered.filter(({ values }) => values.length > 1).map((one) => group(one, idle));
  byId("filters").replaceChildren(...groups);
  if (focus)
    [...document.querySelectorAll("[data-chip]")].find((c) => c.dataset.chip === focus)?.focus();
}

function group({ dim, values, chosen }, idle) {
  const chip = (value, text, isOn) =>
    el(
      "button",
      {
        type: "button",
        class: dim.id === "engine" && idle.has(value) ? "idle" : undefined,
        "aria-pressed": String(isOn),
        "data-chip": `${dim.id}=${value ?? ""}`,
        "data-value": value ?? "",
        title: text.length > 24 || text !== value ? (value ?? undefined) : undefined,
        onclick: () => choose(dim, value, chosen),
      },
      el("bdi", {}, text),
    );
  const show = dim.show ?? ((value) => value);
  const isOpen = state.open.includes(`chips-${dim.id}`);
  const some = isOpen ? values : values.slice(0, MOST_CHIPS);
  const chips = some.map((value) => chip(value, show(value), chosen.includes(value)));
  if (!dim.one) chips.unshift(chip(null, "all", !chosen.length));
  if (some.length < values.length) {
    const rest = values.length - some.length;
    const open = () => {
      state.open.push(`chips-${dim.id}`);
      update();
    };
    chips.push(el("button", { type: "button", class: "rest", onclick: open }, `${rest} more`));
  }
  const titled = {
    class: "group",
    role: "group",
    "aria-label": dim.title,
    "data-dimension": dim.id,
  };
  return el(
    "div",
    titled,
    el("span", { class: "title", "aria-hidden": "true" }, dim.title),
    ...chips,
  );
}
