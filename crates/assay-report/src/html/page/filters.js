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

/** What most readers choose; the rest is behind a line that says what is chosen there. */
const FIRST = ["suite", "storage", "level"];

/** Whether the rest is open. It is no part of a view, so no link has it. */
let isUnfolded = false;

function drawFilters({ offered, columns }) {
  forget(offered);
  const idle = new Set(columns.without.map((column) => DATA.engines[column.engine].name));
  const focus = document.activeElement?.dataset?.chip;
  const open = offered.filter(({ values }) => values.length > 1);
  const isFirst = ({ dim }) => FIRST.includes(dim.id);
  const first = open.filter(isFirst).map((one) => group(one, idle));
  const rest = open.filter((one) => !isFirst(one));
  byId("filters").replaceChildren(...first, ownSwitch(), folded(rest, idle));
  if (focus)
    [...document.querySelectorAll("[data-chip]")].find((c) => c.dataset.chip === focus)?.focus();
}

/** Hides the authors' own engine, or shows it again. */
function ownSwitch() {
  const own = DATA.engines.find((engine) => engine.is_own);
  const hasOthers = DATA.lines.some((line) => !isOwn(line));
  if (!own || !hasOthers) return "";
  const turn = () => {
    state.hidesOwn = !state.hidesOwn;
    update();
  };
  const act = {
    type: "button",
    "aria-pressed": String(state.hidesOwn),
    "data-chip": "own",
    onclick: turn,
  };
  return el(
    "div",
    { class: "group" },
    el("button", act, "hide ", name(own.id), ", the authors' own engine"),
  );
}

/** The chips that few readers need, behind a line with what is chosen of them. */
function folded(rest, idle) {
  if (!rest.length) return "";
  const said = rest
    .filter(({ dim }) => state.chosen[dim.id]?.length)
    .map(({ dim, chosen }) => {
      const values = chosen.slice(0, 3).map((value) => (dim.show ? dim.show(value) : value));
      const more = chosen.length > 3 ? ` and ${chosen.length - 3} more` : "";
      return `${dim.title} ${values.join(", ")}${more}`;
    });
  const titles = rest.map(({ dim }) => dim.title);
  const last = titles.pop();
  const all = titles.length ? `${titles.join(", ")} or ${last}` : last;
  const text = said.length ? `Chosen: ${said.join(" · ")}` : `Choose ${all}`;
  const box = el(
    "details",
    { class: "fold", open: isUnfolded },
    el("summary", { "data-chip": "fold" }, name(text)),
    el("div", { class: "groups" }, ...rest.map((one) => group(one, idle))),
  );
  box.addEventListener("toggle", () => (isUnfolded = box.open));
  return box;
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
