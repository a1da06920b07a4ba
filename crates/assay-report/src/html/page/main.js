// The head of the page, and the start.

let shown;

/** What was measured, when, on what. */
function drawHead({ offered, lines }) {
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
  const against = byId("trust");
  const warn =
    against &&
    el(
      "button",
      { type: "button", class: "warn", onclick: () => reveal("trust") },
      `${plural(Number(against.dataset.count), "warning")} ▾`,
    );
  document.title = `${suite} · Assay`;
  byId("head").replaceChildren(
    el("h1", {}, name(suite)),
    el("p", { class: "facts" }, name(facts.filter(Boolean).join(" · "))),
    el("p", { class: "facts" }, name(`${only("machine")} · ${when} · ${build}`), " ", warn),
  );
}

/** Draws what the state says, and writes it to the address. */
function update() {
  shown = view();
  drawFilters(shown);
  drawRanking(shown);
  drawMatrix(shown);
  drawSections(shown);
  drawHead(shown);
  writeAddress();
}

function open() {
  const unknown = readAddress();
  update();
  const some = unknown.slice(0, 5).join(", ");
  byId("said").textContent = unknown.length
    ? `The link names what these runs do not have: ${some}.`
    : "";
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
