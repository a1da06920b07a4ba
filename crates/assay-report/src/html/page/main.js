// The head of the page, and the start.

let shown;

/** What was measured, when, on what. */
function drawHead(shownView) {
  const { offered, lines } = shownView;
  const chosen = (id) => offered.find(({ dim }) => dim.id === id);
  const only = (id) => {
    const { values, chosen: some } = chosen(id);
    return values.length === 1 ? values[0] : some.length === 1 ? some[0] : null;
  };
  const runs = distinct(lines.map((line) => line.run)).map((at) => DATA.runs[at]);
  const dates = distinct(runs.map((run) => run.created)).sort();
  const trials = bounds(lines.filter(hasFigures).map((line) => line.trials));
  const facts = [
    only("storage"),
    only("level") && `durability ${only("level")}`,
    only("keys"),
    only("rows") && Number(only("rows")) > 0 && `${rowCount(Number(only("rows")))} rows`,
    only("threads") && plural(Number(only("threads")), "thread"),
    only("work"),
    isFigure(trials[0]) &&
      (trials[0] === trials[1]
        ? plural(trials[0], "trial")
        : `${trials[0]} to ${trials[1]} trials`),
  ];
  const last =
    dates.at(-1)?.slice(0, 10) === dates[0]?.slice(0, 10) ? dates.at(-1)?.slice(11) : dates.at(-1);
  const first = dates[0]?.replace(" UTC", "");
  const when = dates.length > 1 ? `${plural(runs.length, "run")}, ${first} to ${last}` : dates[0];
  const build = distinct(runs.map((run) => `assay ${run.version}`))
    .slice(0, 3)
    .join(", ");
  const suite = only("suite") ?? "Assay results";
  const machines = chosen("machine").values.length;
  const where = machines > 1 ? `${only("machine")} (one of ${machines} machines)` : only("machine");
  const against = byId("trust");
  const warn =
    against &&
    el(
      "button",
      { type: "button", class: "warn", onclick: () => reveal("trust") },
      `${plural(Number(against.dataset.count), "warning")} ▾`,
    );
  const ask = byId("why")
    ? el("button", { type: "button", class: "ask", onclick: () => reveal("why") }, "questions ▾")
    : "";
  document.title = `${suite} · Assay`;
  byId("head").replaceChildren(
    el("h1", {}, name(suite)),
    el("p", { class: "lead" }, ...lead(shownView, only)),
    el("p", { class: "lead verdict" }, ...verdict(shownView)),
    el("p", { class: "facts" }, name(facts.filter(Boolean).join(" · "))),
    el("p", { class: "facts" }, name(`${where} · ${when} · ${build}`), " ", warn, " ", ask),
  );
}

/** Draws what the state says, and writes it to the address. */
function update() {
  shown = view();
  drawAdvice(state);
  drawFilters(shown);
  drawRanking(shown);
  drawMatrix(shown);
  drawSections(shown);
  drawHead(shown);
  sayLost(shown);
  writeAddress();
}

/** What the link names and these runs do not have. */
let unknown = [];

/** Says what was asked for and is not shown, since nothing is left out silently. */
function sayLost({ dropped }) {
  const say = (words, list) => {
    const more = list.length > 5 ? ` and ${list.length - 5} more` : "";
    return list.length ? `${words}: ${list.slice(0, 5).join(", ")}${more}. ` : "";
  };
  byId("said").textContent =
    say("The link names what these runs do not have", unknown) +
    say("Not in what is shown, so left out", dropped);
}

function open() {
  unknown = readAddress();
  update();
  unknown = [];
}

open();
addEventListener("hashchange", open);
addEventListener("resize", fitScroll);
addEventListener("scroll", () => (keepHeads(), followDetail()), { passive: true, capture: true });
addEventListener("beforeprint", () => printMatrix(shown));
addEventListener("afterprint", () =>
  document.querySelectorAll(".on-paper").forEach((sheet) => sheet.remove()),
);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", update);
document.addEventListener("keydown", (event) => event.key === "Escape" && hideDetail());
